internal import ArgumentParser
internal import Foundation
internal import Tapedeck

/// `storectl image`.
struct ImageCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "image",
        abstract: "Keep the pictures that lists show for when there is no network.",
        discussion: """
            Events hold the addresses of pictures. What stands there is this device's own, is not synced, and \
            may go at any time.

            EXAMPLE:
              storectl image keep https://example.org/ada.png ada.png
              storectl image list
            """,
        subcommands: [
            ImageKeepCommand.self, ImageListCommand.self, ImageEvictCommand.self,
        ])
}

/// `storectl image keep`.
struct ImageKeepCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keep",
        abstract: "Keep a file as the picture at an address.",
        discussion: """
            It takes the place of what was kept of the address. Where there are more bytes than the budget, the \
            pictures go that were asked for longest ago.

            EXAMPLE:
              storectl image keep https://example.org/ada.png ada.png
            """)

    @Argument(help: "The address.")
    var url: String

    @Argument(help: "The file.", completion: .file())
    var file: String

    @Option(help: ArgumentHelp("How many bytes all pictures may have.", valueName: "bytes"))
    var budget = ImageCache.bytesMaxDefault

    @OptionGroup var options: StoreOptions

    func run() throws {
        let images = try options.images(bytesMax: budget)
        guard let data = FileManager.default.contents(atPath: file) else {
            throw CommandError(.notFound, "\(file) cannot be read", hint: "name a file")
        }
        try ImageReport.print([images.keep(Array(data), at: url)], options)
    }
}

/// `storectl image list`.
struct ImageListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "The pictures that are kept, the one asked for longest ago first.",
        discussion: """
            With an address, its picture alone, which is now the one that was asked for last.

            EXAMPLE:
              storectl image list --json
              storectl image list https://example.org/ada.png
            """)

    @Argument(help: "Only the picture at this address.")
    var url: String?

    @OptionGroup var options: StoreOptions

    func run() throws {
        let images = try options.images()
        guard let url else { return try ImageReport.print(images.images(), options) }
        guard let image = try images.image(at: url) else {
            throw CommandError(
                .notFound, "no picture of \(url) is kept",
                hint: "storectl image keep keeps one")
        }
        try ImageReport.print([image], options)
    }
}

/// `storectl image evict`.
struct ImageEvictCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evict",
        abstract: "Let pictures go that were asked for longest ago, until a budget is kept.",
        discussion: """
            EXAMPLE:
              storectl image evict --budget 50000000
              storectl image evict --budget 0
            """)

    @Option(help: ArgumentHelp("How many bytes may stay.", valueName: "bytes"))
    var budget: UInt64

    @OptionGroup var options: StoreOptions

    func run() throws {
        let gone = try options.images().evict(to: budget)
        try options.print(["evicted": .list(gone.map(JSON.text))]) { text in
            for url in gone { text.line(url) }
        }
    }
}

extension StoreOptions {
    /// The pictures of the store; its log says that it is one at all.
    fileprivate func images(
        bytesMax: UInt64 = ImageCache.bytesMaxDefault
    ) throws -> ImageCache {
        ImageCache(store: try withLog(isReading: true) { $0.directory.path }, bytesMax: bytesMax)
    }
}

/// What is said of pictures.
private enum ImageReport {
    static func print(_ images: [ImageCache.Image], _ options: StoreOptions) throws {
        try options.print(
            [
                "images": .list(
                    images.map {
                        [
                            "url": .text($0.url), "blob": .text($0.blob), "path": .text($0.path),
                            "bytes": .unsigned($0.bytes),
                            "usedAt": .text(TimeArgument.text($0.usedAt)),
                        ]
                    })
            ]
        ) { text in
            var table = TextTable([.time("asked for"), .number("bytes"), .long("address")])
            for image in images {
                table.add([TimeArgument.text(image.usedAt), String(image.bytes), image.url])
            }
            text.table(table)
        }
    }
}
