internal import Foundation
internal import Tapedeck

/// The files in a store's directory.
struct StoreFiles {
    /// One file.
    struct File {
        let name: String
        let bytes: UInt64
        let mode: UInt32
        let owner: UInt32
    }

    let files: [File]

    init(_ directory: String) throws {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: directory)
        } catch {
            throw CommandError(
                .accessDenied,
                "\(directory) cannot be read\(SystemReason.of(error))",
                hint: "check its owner and permissions", cause: error)
        }
        files = names.sorted().compactMap { name in
            var facts = stat()
            guard lstat("\(directory)/\(name)", &facts) == 0 else { return nil }
            return File(
                name: name, bytes: UInt64(max(0, facts.st_size)), mode: UInt32(facts.st_mode),
                owner: UInt32(facts.st_uid))
        }
    }

    /// The size of the log's file.
    var logBytes: UInt64 { files.first { $0.name == "log.mdb" }?.bytes ?? 0 }

    /// The files that contain projections.
    var views: [(number: UInt64, file: File)] {
        files.compactMap { file in
            guard file.name.hasPrefix("views-"), file.name.hasSuffix(".mdb"),
                let number = UInt64(file.name.dropFirst(6).dropLast(4))
            else { return nil }
            return (number, file)
        }
    }

    var viewsBytes: UInt64 { views.reduce(0) { $0 + $1.file.bytes } }

    /// The files left by an interrupted rebuild.
    var scratchFiles: [File] { files.filter { $0.name.hasPrefix("scratch-") } }

    /// The files and folders left by an interrupted creation or compaction.
    var unfinishedFiles: [File] { files.filter { $0.name.hasSuffix(".tapedeck-part") } }
}
