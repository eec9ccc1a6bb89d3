internal import ArgumentParser
internal import Tapedeck

/// The command `storectl query video`.
struct QueryVideoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "video",
        abstract: "Show the title, description, pictures and links of a video.",
        discussion: """
            EXAMPLE:
              storectl query video youtube:aqz-KE-bpKQ
            """)

    @Argument(help: "The video's key (provider:id) or any of its URLs.")
    var video: String

    @OptionGroup var options: QueryOptions

    func run() throws {
        let projections = VideoProjections.standard
        let found = try options.query(projections, [projections.videos, projections.watchLater]) {
            try $0.details(of: video)
        }
        try options.print(JSON(encoding: found)) { text in
            let marks = [("liked", found.liked), ("watched", found.watched)].filter(\.1).map(\.0)
            let fields: [(name: String, value: String?)] = [
                ("video", found.video), ("title", found.title), ("sharer", found.sharer),
                ("duration", found.durationSeconds.map { "\($0) s" }),
                ("page", found.shortLink ?? found.pageUrl), ("picture", found.thumbnailUrl),
                ("sharer's picture", found.sharerImageUrl),
                ("broadcasts", String(found.broadcasts)), ("comments", String(found.commentCount)),
                ("last shared", found.newestAt?.description),
                ("marks", marks.isEmpty ? nil : marks.joined(separator: ", ")),
                ("description", found.description),
            ]
            text.fields(fields.compactMap { field in field.value.map { (field.name, $0) } })
        }
    }
}
