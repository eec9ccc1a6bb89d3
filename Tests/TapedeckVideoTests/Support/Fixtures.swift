import Foundation
import TapedeckVideo

/// Recorded responses, which are kept next to the repository and are not part of it.
enum Fixtures {
    /// The path in `TAPEDECK_FIXTURES`; if it is not set, `../shared/fixtures` next to the
    /// repository.
    static let folder: URL = {
        if let path = ProcessInfo.processInfo.environment["TAPEDECK_FIXTURES"] {
            return URL(fileURLWithPath: path, isDirectory: true)
        }
        return URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
            .appendingPathComponent("shared/fixtures", isDirectory: true)
    }()

    static let arePresent = FileManager.default.fileExists(atPath: folder.path)

    /// The folders of recorded responses, each with the resource of its files.
    static let resources: [(folder: String, resource: String)] = [
        ("tvmaze/schedule", "tvmaze/schedule"), ("tvmaze/schedule-web", "tvmaze/schedule-web"),
        ("tvmaze/show", "tvmaze/show"), ("tvmaze/episodes-embed", "tvmaze/show"),
        ("tvmaze/cast-embed", "tvmaze/show"), ("tvmaze/seasons-embed", "tvmaze/show"),
        ("tvmaze/search", "tvmaze/search"), ("tvmaze/cast", "tvmaze/cast"),
        ("tvmaze/episode", "tvmaze/episode"),
    ]

    static func files(_ folder: String) throws -> [URL] {
        try FileManager.default.contentsOfDirectory(
            at: Fixtures.folder.appendingPathComponent(folder), includingPropertiesForKeys: nil
        ).filter { $0.pathExtension == "json" }.sorted { $0.path < $1.path }
    }

    static func bytes(_ file: URL) throws -> [UInt8] { Array(try Data(contentsOf: file)) }

    /// Returns the time at which a file was recorded, in Unix milliseconds; nil if the file's name
    /// has no time.
    ///
    /// For example, `a@2016-05-03T110755Z.json` was recorded at 11:07:55.
    static func time(_ file: URL) -> Int64? {
        guard
            let found = file.lastPathComponent
                .firstMatch(of: /@(\d{4}-\d\d-\d\dT)(\d\d)(\d\d)(\d\d)Z/)
        else { return nil }
        let (_, day, hours, minutes, seconds) = found.output
        return Timestamps.milliseconds("\(day)\(hours):\(minutes):\(seconds)Z")
    }

    /// Returns the id of the show in a file's name, as in `shows-118-cast.json`.
    static func show(_ file: URL) -> Int64? {
        let parts = file.lastPathComponent.split(separator: "-")
        return parts.count > 1 && parts[0] == "shows" ? Int64(parts[1]) : nil
    }
}
