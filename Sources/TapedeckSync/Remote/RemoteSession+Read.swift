internal import TapedeckLog
internal import TapedeckModel

extension RemoteSession {
    /// What is still to be read.
    struct Reading {
        private struct Walk {
            var feed: RemotePage
            var page: RemotePage
            var hasNews = false
            var rounds = 1
            /// Whether the feed had been read to its end when the walk began; nil before its first page.
            var wasComplete: Bool?
        }

        /// How often a feed that moves is read in one sync.
        private static let roundsMax = 3
        /// How many things may be waiting to be read; what is beyond is left for the next sync.
        private static let walksMax = 100_000

        private var walks: [Walk] = []
        private var seen: Set<RemotePage> = []

        var isEmpty: Bool { walks.isEmpty }

        /// The page to ask for.
        var next: RemotePage? { walks.last?.page }

        /// Begins at the front of every feed.
        mutating func begin(_ connector: any Connector, _ account: RemoteAccount?) {
            guard let account else { return }
            walks = connector.feeds(account).reversed().map { Walk(feed: $0, page: $0) }
            seen = Set(walks.map(\.feed))
        }

        /// Whether what lies behind the page that is asked for was known when its walk began.
        ///
        /// - Parameter isComplete: whether its feed counts as read to the end now.
        mutating func wasComplete(_ isComplete: Bool) -> Bool {
            guard let last = walks.indices.last else { return isComplete }
            let was = walks[last].wasComplete ?? isComplete
            walks[last].wasComplete = was
            return was
        }

        /// Goes on behind a page.
        ///
        /// - Returns: whether its feed has been read to the end, with nothing new on the way.
        mutating func took(
            _ page: RemotePage, _ content: RemoteContent, news: [Bool], isComplete: Bool
        ) -> Bool {
            guard var walk = walks.popLast() else { return false }
            let hasNews = news.contains(true)
            walk.hasNews = walk.hasNews || hasNews
            var hasEnded = false
            if let next = content.next, !(content.stopsWhereKnown && isComplete && !hasNews) {
                walk.page = next
                walks.append(walk)
            } else if content.next == nil {
                // A list that moves while it is paged through may have hidden a row: it is read again
                // until it shows nothing new.
                hasEnded = !walk.hasNews || content.stopsWhereKnown == false
                if !hasEnded, walk.rounds < Reading.roundsMax {
                    walks.append(
                        Walk(
                            feed: walk.feed, page: walk.feed, rounds: walk.rounds + 1,
                            wasComplete: walk.wasComplete))
                }
            }
            for other in content.others.reversed()
            where walks.count < Reading.walksMax && seen.insert(other).inserted {
                walks.append(Walk(feed: other, page: other))
            }
            return hasEnded
        }

        /// Leaves a feed that cannot be read to the next sync.
        mutating func giveUp(
            _ page: RemotePage, _ failure: SyncFailure, _ report: inout RemoteReport
        ) {
            _ = walks.popLast()
            report.unreadable.append("\(page.feed): \(failure.message)")
        }

        /// Asks for a page once more; it is still the next one.
        mutating func again(_: RemotePage) {}
    }

    mutating func took(_ response: RemoteResponse, of page: RemotePage) throws {
        guard let account = login.account else { return }
        var content = try connector.read(response, of: page, account)
        report.unreadable += content.refused
        let complete = RemoteRow.complete(remote.name, feed: page.feed)
        let isHeld = try RemoteRow.isComplete(remote.name, feed: page.feed, in: log)
        let isComplete = reading.wasComplete(isHeld)
        // Were the walk to end behind this page, the pages up to what is known would never be asked for:
        // until they are read, the feed does not count as complete.
        let mayLeaveGap = isHeld && content.next != nil
        let recorded = try log.record(
            content.sightings,
            rows: [row.row] + (mayLeaveGap ? [SyncRow(complete.name, nil)] : []))
        report.pulled += recorded.recorded
        // What a known sighting leads to has been read, unless the feed never came to its end.
        content.others = content.others(isNews: recorded.isNews, all: !isComplete)
        let isRead = reading.took(
            page, content, news: recorded.isNews, isComplete: isComplete)
        let isKnown =
            isComplete && content.stopsWhereKnown && content.next != nil && recorded.recorded == 0
        if isRead || isKnown, mayLeaveGap || !isHeld { try log.setSyncRows([complete]) }
    }
}

extension RemoteContent {
    fileprivate func others(isNews: [Bool], all: Bool) -> [RemotePage] {
        leads.compactMap { lead in
            all || lead.sighting.map { isNews[$0] } ?? true ? lead.page : nil
        }
    }
}
