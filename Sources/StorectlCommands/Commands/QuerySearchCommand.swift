internal import ArgumentParser
internal import Tapedeck

/// The command `storectl query search`.
struct QuerySearchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "search",
        abstract: "Search videos, shows, users, questions and comments.",
        discussion: """
            All words must match, ignoring case and accents; the last word may be a prefix. \
            Matches in titles and names come first, then matches in sharers, owners and networks, \
            then matches in comments. Within each group, whole words come before prefixes, and \
            newer entries before older ones. All titles of a video are searched; chats are not. \
            The first search builds the index, which is then kept up to date.

            EXAMPLE:
              storectl query search big bu
              storectl query search zoe --in users --json
            """)

    @OptionGroup var searched: SearchOptions
    @OptionGroup var page: PageOptions
    @OptionGroup var options: QueryOptions

    func run() throws {
        let text = searched.joined
        // Rejects invalid words before the index is built.
        try SearchLimits.check(text)
        let projections = VideoProjections.standard
        let scope = searched.scope?.scope
        let found = try options.query(projections, projections.searched(in: scope)) {
            try $0.search(text, in: scope, limit: page.limit, cursor: page.cursor)
        }
        try options.print(JSON(encoding: found)) { text in
            var table = TextTable([
                .text("kind"), .text("entry"), .time("when"), .text("by"), .long("text"),
            ])
            for hit in found.hits { hit.add(to: &table) }
            text.table(table)
            page.remark(next: found.next, &text)
        }
    }
}

/// The words to search for, and the kind of entry to search.
struct SearchOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("The words to search for.", valueName: "text"))
    var text: [String]

    @Option(name: .customLong("in"), help: "The kind of entry to search for (default: all kinds).")
    var scope: ScopeArgument?

    /// The words as one string.
    var joined: String { text.joined(separator: " ") }
}

/// `videos`, `shows`, `users` or `questions`.
enum ScopeArgument: String, ExpressibleByArgument, CaseIterable {
    case videos, shows, users, questions

    var scope: SearchScope {
        switch self {
        case .videos: .videos
        case .shows: .shows
        case .users: .users
        case .questions: .questions
        }
    }
}

extension SearchHit {
    /// Adds a row with the entry, its main text, and its author, sharer or network; matches are
    /// bold.
    ///
    /// Other matching titles of a video follow its main title.
    fileprivate func add(to table: inout TextTable) {
        let besides: [SearchField] = [.otherTitle, .sharer, .owner, .author, .network]
        let main = texts.firstIndex { !besides.contains($0.field) }
        let other = texts.indices.first { $0 != main && texts[$0].field != .otherTitle }
        var (text, bold): (String?, [Range<Int>]) = (nil, [])
        for index in texts.indices where index == main || texts[index].field == .otherTitle {
            let front = text.map { $0 + " / " } ?? ""
            let start = front.unicodeScalars.count
            bold += texts[index].boldParts.map { $0.lowerBound + start..<$0.upperBound + start }
            text = front + texts[index].text
        }
        table.add(
            [kind.rawValue, about ?? id, at?.description, other.map { texts[$0].text }, text],
            bold: [3: other.map { texts[$0].boldParts } ?? [], 4: bold])
    }
}

extension SearchedText {
    /// The ranges of the matches, counted in Unicode scalars.
    fileprivate var boldParts: [Range<Int>] {
        func scalars(_ bytes: Int) -> Int {
            text.unicodeScalars.distance(
                from: text.startIndex, to: text.utf8.index(text.startIndex, offsetBy: bytes))
        }
        return matches.map { scalars($0.start)..<scalars($0.end) }
    }
}
