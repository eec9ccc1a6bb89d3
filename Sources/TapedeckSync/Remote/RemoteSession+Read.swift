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
        ///
        /// - Parameter leads: what an earlier reading came across and never read.
        mutating func begin(
            _ connector: any Connector, _ account: RemoteAccount?, now: UInt64,
            leads: [RemotePage]
        ) {
            guard let account else { return }
            let pages = connector.feeds(account, now: now) + leads
            walks = pages.reversed().map { Walk(feed: $0, page: $0) }
            seen = Set(pages)
        }

        /// Whether this reading has not come across a feed before.
        func isNew(_ page: RemotePage) -> Bool { !seen.contains(page) }

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
        /// - Returns: whether its feed has been read to the end so that nothing can have been missed, and
        ///   where that feed began if nothing of it is left to be read now.
        mutating func took(
            _ page: RemotePage, _ content: RemoteContent, news: [Bool], isComplete: Bool
        ) -> (isWhole: Bool, ended: RemotePage?) {
            guard var walk = walks.popLast() else { return (false, nil) }
            // One page cannot hide a row from itself.
            let moves = content.moves && walk.page != walk.feed || content.stopsWhereKnown
            let hasNews = news.contains(true)
            walk.hasNews = walk.hasNews || hasNews
            var isWhole = false
            var ended: RemotePage? = walk.feed
            if let next = content.next, !(content.stopsWhereKnown && isComplete && !hasNews) {
                walk.page = next
                walks.append(walk)
                ended = nil
            } else if content.next == nil {
                // A list that moves while it is paged through may have hidden a row: it is read again
                // until it shows nothing new.
                isWhole = !walk.hasNews || !moves
                if !isWhole, walk.rounds < Reading.roundsMax {
                    walks.append(
                        Walk(
                            feed: walk.feed, page: walk.feed, rounds: walk.rounds + 1,
                            wasComplete: walk.wasComplete))
                    ended = nil
                }
            }
            for other in content.others.reversed()
            where walks.count < Reading.walksMax && seen.insert(other).inserted {
                walks.append(Walk(feed: other, page: other))
            }
            return (isWhole, ended)
        }

        /// Leaves a feed that cannot be read to the next sync; gives where it began.
        mutating func giveUp(
            _ page: RemotePage, _ failure: SyncFailure, _ report: inout RemoteReport
        ) -> RemotePage? {
            let walk = walks.popLast()
            report.unreadable.append("\(page.feed): \(failure.message)")
            return walk?.feed
        }
    }

    mutating func took(_ response: RemoteResponse, of page: RemotePage) throws {
        guard let account = login.account else { return }
        var content = try connector.read(response, of: page, account)
        report.unreadable += content.refused
        let isHeld = try RemoteRow.isComplete(remote.name, feed: page.feed, in: log)
        let isComplete = self.reading.wasComplete(isHeld)
        let remote = remote.name
        let read = content
        let reading = reading
        // What a known sighting leads to has been read, unless the feed never came to its end. The others
        // are noted with the sightings: the sync may end before it has come to them.
        func others(_ recorded: EventLog.RecordedEvents) -> [RemotePage] {
            read.others(isNews: recorded.isNews, all: !isComplete).filter { reading.isNew($0) }
        }
        let complete = RemoteRow.complete(remote, feed: page.feed)
        // Were the sync to end behind this page, the pages up to what is known would never be asked for:
        // until they are read, the feed does not count as complete.
        func leavesGap(_ recorded: EventLog.RecordedEvents) -> Bool {
            isHeld && read.next != nil && recorded.recorded > 0
        }
        let recorded = try log.record(content.sightings, rows: [row.row]) { recorded in
            others(recorded).map { RemoteRow.lead(remote, $0) }
                + (leavesGap(recorded) ? [SyncRow(complete.name, nil)] : [])
        }
        report.pulled += recorded.recorded
        content.others = others(recorded)
        var rows: [SyncRow] = []
        let (isWhole, ended) = self.reading.took(
            page, content, news: recorded.isNews, isComplete: isComplete)
        let isKnown = isWhole || isComplete && ended != nil
        if isKnown, !isHeld || leavesGap(recorded) { rows.append(complete) }
        if let ended { rows.append(RemoteRow.lead(remote, ended, isOpen: false)) }
        if !rows.isEmpty { try log.setSyncRows(rows) }
    }

    /// Begins at the front of every feed, and with what an earlier sync has not come to.
    mutating func beginReading() throws {
        readingPosition = try log.currentHead()
        reading.begin(
            connector, login.account, now: now, leads: try RemoteRow.leads(remote.name, in: log))
    }

    /// Leaves a feed that cannot be read to the next sync, or for good where there is none any more.
    mutating func giveUp(_ page: RemotePage, _ failure: SyncFailure) throws {
        if failure.code != .notFound { hasGivenUp = true }
        guard let feed = reading.giveUp(page, failure, &report), failure.code == .notFound else {
            return
        }
        try log.setSyncRows([RemoteRow.lead(remote.name, feed, isOpen: false)])
    }
}

extension RemoteContent {
    fileprivate func others(isNews: [Bool], all: Bool) -> [RemotePage] {
        leads.compactMap { lead in
            all || lead.sighting.map { isNews[$0] } ?? true ? lead.page : nil
        }
    }
}
