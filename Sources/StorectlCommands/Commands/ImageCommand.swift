internal import ArgumentParser
internal import Foundation
internal import Tapedeck

/// The command `storectl image`.
struct ImageCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "image",
        abstract: "Manage the cache of pictures for offline use.",
        discussion: """
            Events contain only the URLs of pictures. The cache belongs to this device, is not synced, \
            and can be deleted at any time.

            EXAMPLE:
              storectl image keep https://example.org/ada.png ada.png
              storectl image list
            """,
        subcommands: [
            ImageKeepCommand.self, ImageListCommand.self, ImageEvictCommand.self,
        ])
}

/// The command `storectl image keep`.
struct ImageKeepCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keep",
        abstract: "Cache a file as the picture at a URL.",
        discussion: """
            Replaces the picture cached for this URL. If the cache exceeds the budget, the least recently \
            used pictures are deleted.

            EXAMPLE:
              storectl image keep https://example.org/ada.png ada.png
            """)

    @Argument(help: "The picture's URL.")
    var url: String

    @Argument(help: "The file to cache as the picture at that URL.", completion: .file())
    var file: String

    @Option(
        help: ArgumentHelp("The maximum size of all cached pictures together.", valueName: "bytes"))
    var budget = ImageCache.bytesMaxDefault

    @OptionGroup var options: StoreOptions

    func run() throws {
        let image = try options.withImages(bytesMax: budget) { images in
            guard let data = FileManager.default.contents(atPath: file) else {
                throw CommandError(.notFound, "\(file) cannot be read", hint: "check the path")
            }
            return try images.keep(Array(data), at: url)
        }
        try ImageReport.print([image], options)
    }
}

/// The command `storectl image list`.
struct ImageListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List cached pictures, least recently used first.",
        discussion: """
            With a URL, shows only that picture and marks it as just used.

            EXAMPLE:
              storectl image list --json
              storectl image list https://example.org/ada.png
            """)

    @Argument(help: "List only the picture at this URL.")
    var url: String?

    @OptionGroup var options: StoreOptions

    func run() throws {
        let listed = try options.withImages { images in
            guard let url else { return images.images() }
            guard let image = try images.image(at: url) else {
                throw CommandError(
                    .notFound, "no picture is cached for \(url)",
                    hint: "storectl image keep URL FILE caches a picture")
            }
            return [image]
        }
        try ImageReport.print(listed, options)
    }
}

/// The command `storectl image evict`.
struct ImageEvictCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evict",
        abstract: "Delete the least recently used pictures until the rest fit a budget.",
        discussion: """
            EXAMPLE:
              storectl image evict --budget 50000000
              storectl image evict --budget 0
            """)

    @Option(
        help: ArgumentHelp(
            "The maximum total size of the pictures that remain.", valueName: "bytes"))
    var budget: UInt64

    @OptionGroup var options: StoreOptions

    func run() throws {
        let gone = try options.withImages { $0.evict(to: budget) }
        try options.print(["evicted": .list(gone.map(JSON.text))]) { text in
            for url in gone { text.line(url) }
        }
    }
}

extension StoreOptions {
    /// Opens the store's picture cache; no other process can erase the store before `body` ends.
    fileprivate func withImages<R>(
        bytesMax: UInt64 = ImageCache.bytesMaxDefault, _ body: (ImageCache) throws -> R
    ) throws -> R {
        try withLog(isReading: true) { log in
            try body(ImageCache(store: log.directory.path, bytesMax: bytesMax))
        }
    }
}

/// Prints cached pictures.
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
            var table = TextTable([.time("last used"), .number("bytes"), .long("url")])
            for image in images {
                table.add([TimeArgument.text(image.usedAt), String(image.bytes), image.url])
            }
            text.table(table)
        }
    }
}
