internal import ArgumentParser
internal import Foundation
internal import Tapedeck

/// The command `storectl blob`.
struct BlobCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "blob",
        abstract: "Manage the media files that events refer to.",
        discussion: """
            EXAMPLE:
              storectl blob add answer.mov still.jpg
            """,
        subcommands: [BlobAddCommand.self])
}

/// The command `storectl blob add`.
struct BlobAddCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Copy files into the store and print their SHA-256 names.",
        discussion: """
            A file is named by the SHA-256 of its contents; identical files are stored once. Pass the \
            names of a video and a picture to storectl do answer hand-in to submit an answer.

            EXAMPLE:
              storectl blob add answer.mov still.jpg
              storectl blob add answer.mov --json
            """)

    @Argument(help: "The files.", completion: .file())
    var files: [String]

    @OptionGroup var options: StoreOptions

    func run() throws {
        // No other process can erase the store while the log is open.
        let kept = try options.withLog(isReading: true) { log in
            let blobs = BlobStore(store: log.directory.path)
            return try files.map { file in
                let blob = try blobs.add(contentsOf: file)
                let size = try blobs.path(of: blob).map {
                    try FileManager.default.attributesOfItem(atPath: $0)[.size] as? UInt64 ?? 0
                }
                return (file: file, blob: blob, bytes: size ?? 0)
            }
        }
        try options.print(
            [
                "blobs": .list(
                    kept.map {
                        [
                            "file": .text($0.file), "blob": .text($0.blob),
                            "bytes": .init($0.bytes),
                        ]
                    })
            ]
        ) { text in
            var table = TextTable([.text("blob"), .number("bytes"), .long("file")])
            for blob in kept { table.add([blob.blob, String(blob.bytes), blob.file]) }
            text.table(table)
        }
    }
}
