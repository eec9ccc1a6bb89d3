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
            /// Whether another page has led to it.
            var isLead = false
            /// How often the remote failed at it, and how many pages were read before that.
            var failures = (count: 0, readBefore: 0)
        }

        /// How often a feed that moves is read in one sync.
        private static let roundsMax = 3
        /// How often a remote may fail at a feed alone before that is left to the next reading.
        private static let failuresMax = 3

        private let rules: ReadingRules
        private var walks: [Walk] = []
        private var seen: Set<RemotePage> = []
        private var leadCount = 0
        private var readCount = 0
        private var feedCount = 0
        /// The feeds that are fresh, and until when.
        private var freshFeeds: [RemotePage: UInt64] = [:]

        /// What feeds begin with that are not there.
        private var missing: [String] = []

        init(_ rules: ReadingRules) { self.rules = rules }

        var isEmpty: Bool { walks.isEmpty }

        /// Whether an answer has come.
        var hasRead: Bool { readCount > 0 }

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
            self = Reading(rules)
            let feeds = connector.feeds(account, now: now)
            let leads = leads.prefix(rules.leadsMax)
            walks = leads.reversed().map { Walk(feed: $0, page: $0, isLead: true) }
            walks += feeds.reversed().map { Walk(feed: $0, page: $0) }
            seen = Set(feeds).union(leads)
            (feedCount, leadCount) = (feeds.count, leads.count)
        }

        // MARK: Freshness

        /// Whether a page is all of its feed, so that nothing behind it is missed where it is left out.
        func isWholeFeed(_ page: RemotePage, _ content: RemoteContent) -> Bool {
            walks.last?.feed == page && content.next == nil && !content.moves
        }

        /// Notes until when a feed need not be asked for again.
        mutating func noteFresh(_ page: RemotePage, until end: UInt64) {
            guard walks.last?.isLead == false else { return }
            freshFeeds[page] = end
        }

        /// Leaves out the page that comes next.
        mutating func skip() { walks.removeLast() }

        /// When the first of the feeds that are fresh no longer is, in Unix milliseconds; nil where none is.
        var freshUntil: UInt64? { freshFeeds.values.min() }

        /// Whether every feed is fresh.
        var isFresh: Bool { freshFeeds.count == feedCount }

        // MARK: Failures

        /// Puts the page at which the remote fails behind the other feeds, or where there are none behind what
        /// these have led to; false where nothing else is to be read.
        mutating func postpone() -> Bool {
            guard walks.count > 1, let walk = walks.popLast() else { return false }
            let leads = walks.prefix { $0.isLead }.count
            walks.insert(walk, at: walk.isLead || leads == walks.count ? 0 : leads)
            return true
        }

        /// Notes that the remote failed at the page that comes next.
        ///
        /// - Returns: whether it fails at that one alone: others were read meanwhile.
        mutating func failsAlone() -> Bool {
            guard let last = walks.indices.last else { return false }
            if walks[last].failures.count == 0 { walks[last].failures.readBefore = readCount }
            walks[last].failures.count += 1
            return walks[last].failures.count >= Reading.failuresMax
                && readCount > walks[last].failures.readBefore
        }

        /// Leaves feeds that begin so.
        mutating func drop(_ feeds: String) {
            missing.append(feeds)
            walks.removeAll { $0.feed.feed.hasPrefix(feeds) }
        }

        /// Whether this reading has not come across a feed before, and may ask for it.
        func isNew(_ page: RemotePage) -> Bool {
            !seen.contains(page) && !missing.contains(where: page.feed.hasPrefix)
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
        /// - Returns: whether its feed has been read to the end so that nothing can have been missed, and
        ///   where that feed began if nothing of it is left to be read now.
        mutating func took(
            _ page: RemotePage, _ content: RemoteContent, news: [Bool], isComplete: Bool
        ) -> (isWhole: Bool, ended: RemotePage?) {
            guard var walk = walks.popLast() else { return (false, nil) }
            readCount += 1
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
            var others: [Walk] = []
            for other in content.others
            where leadCount < rules.leadsMax && seen.insert(other).inserted {
                leadCount += 1
                others.append(Walk(feed: other, page: other, isLead: true))
            }
            walks.insert(contentsOf: others.reversed(), at: rules.feedsComeFirst ? 0 : walks.count)
            return (isWhole, ended)
        }

        /// Leaves a feed that cannot be read to the next sync; gives where it began.
        mutating func giveUp(
            _ page: RemotePage, _ failure: SyncFailure, _ report: inout RemoteReport
        ) -> RemotePage? {
            let walk = walks.popLast()
            let name = page.place.isEmpty ? page.feed : "\(page.feed) \(page.place)"
            report.unreadable.append("\(name): \(failure.message)")
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
        var noted = [row.row]
        if connector.manifest.reading.keepsFresh, reading.isWholeFeed(page, content) {
            noted.append(fresh.take(page, self.remote, response, at: row.contactedAt))
            noteFresh(page)
        }
        let recorded = try log.record(content.sightings, rows: noted) { recorded in
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
        if let missing = content.missing {
            self.reading.drop(missing.feeds)
            if !report.missing.contains(missing.message) { report.missing.append(missing.message) }
        }
        if !rows.isEmpty { try log.setSyncRows(rows) }
    }

    /// Begins at the front of every feed, and with what an earlier sync has not come to.
    mutating func beginReading() throws {
        readingPosition = try log.currentHead()
        let now = now
        fresh = try asksAll ? RemoteFreshness() : RemoteFreshness(remote, at: now, in: log)
        let leads = try RemoteRow.leads(remote.name, in: log)
            .filter { fresh.end(of: $0, remote, at: now) == nil }
        reading.begin(connector, login.account, now: now, leads: leads)
        readingTurn = connector.turn(after: now) ?? .max
        (readingBegan, isReading) = (now, true)
        (report.fresh, report.freshUntil) = (0, nil)
        hasGivenUp = false
    }

    /// The page to ask for; those that are fresh are left out.
    mutating func nextPage() -> RemotePage? {
        while let page = reading.next {
            guard let end = noteFresh(page) else { return page }
            reading.skip()
            report.fresh += 1
            report.freshUntil = min(report.freshUntil ?? .max, end)
        }
        return nil
    }

    /// Until when the page that comes next is fresh; nil where it is not.
    @discardableResult
    private mutating func noteFresh(_ page: RemotePage) -> UInt64? {
        guard let end = fresh.end(of: page, remote, at: now) else { return nil }
        reading.noteFresh(page, until: end)
        return end
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
