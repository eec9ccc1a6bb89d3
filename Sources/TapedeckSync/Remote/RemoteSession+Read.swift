internal import TapedeckLog
internal import TapedeckModel

extension RemoteSession {
    /// The pages that are still to be read.
    struct Reading {
        private struct Walk {
            var feed: RemotePage
            var page: RemotePage
            var hasNews = false
            var rounds = 1
            /// Whether the feed had been read to its end before this walk; nil until the walk has
            /// read a page.
            var wasComplete: Bool?
            /// Whether the feed was linked from another page.
            var isLead = false
            /// The number of failures of this feed, and the number of pages read before the first
            /// failure.
            var failures = (count: 0, readBefore: 0)
        }

        /// The maximum number of times a moving feed is read in one sync.
        private static let roundsMax = 3
        /// The number of failures of a single feed after which the feed is skipped until the next
        /// reading.
        private static let failuresMax = 3

        private let rules: ReadingRules
        private var walks: [Walk] = []
        private var seen: Set<RemotePage> = []
        private var leadCount = 0
        private var readCount = 0
        private var feedCount = 0
        /// The fresh feeds, with their expiry times.
        private var freshFeeds: [RemotePage: UInt64] = [:]

        /// The prefixes of missing feeds.
        private var missing: [String] = []

        init(_ rules: ReadingRules) { self.rules = rules }

        var isEmpty: Bool { walks.isEmpty }

        /// Whether any response has been read.
        var hasRead: Bool { readCount > 0 }

        /// The next page to request.
        var next: RemotePage? { walks.last?.page }

        /// Starts every feed from the beginning.
        ///
        /// - Parameter leads: Linked pages that earlier syncs did not read.
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

        /// Returns whether a page is the only page of its feed, so that skipping it skips nothing
        /// else.
        func isWholeFeed(_ page: RemotePage, _ content: RemoteContent) -> Bool {
            walks.last?.feed == page && content.next == nil && !content.moves
        }

        /// Notes the time at which a fresh feed expires.
        mutating func noteFresh(_ page: RemotePage, until end: UInt64) {
            guard walks.last?.isLead == false else { return }
            freshFeeds[page] = end
        }

        /// Skips the next page.
        mutating func skip() { walks.removeLast() }

        /// The time at which the first fresh feed expires, in milliseconds since 1970; nil if no
        /// feed is fresh.
        var freshUntil: UInt64? { freshFeeds.values.min() }

        /// Whether every feed is fresh.
        var isFresh: Bool { freshFeeds.count == feedCount }

        // MARK: Failures

        /// Moves the failing page after the other feeds, or after the linked pages if there are no
        /// other feeds.
        ///
        /// Returns false if there is nothing else to read.
        mutating func postpone() -> Bool {
            guard walks.count > 1, let walk = walks.popLast() else { return false }
            let leads = walks.prefix { $0.isLead }.count
            walks.insert(walk, at: walk.isLead || leads == walks.count ? 0 : leads)
            return true
        }

        /// Notes a failure of the next page.
        ///
        /// - Returns: Whether only this page fails while other pages were read.
        mutating func failsAlone() -> Bool {
            guard let last = walks.indices.last else { return false }
            if walks[last].failures.count == 0 { walks[last].failures.readBefore = readCount }
            walks[last].failures.count += 1
            return walks[last].failures.count >= Reading.failuresMax
                && readCount > walks[last].failures.readBefore
        }

        /// Drops the feeds whose names begin with a prefix.
        mutating func drop(_ feeds: String) {
            missing.append(feeds)
            walks.removeAll { $0.feed.feed.hasPrefix(feeds) }
        }

        /// Returns whether a page is new to this reading and does not belong to a missing feed.
        func isNew(_ page: RemotePage) -> Bool {
            !seen.contains(page) && !missing.contains(where: page.feed.hasPrefix)
        }

        /// Returns whether the feed counted as read to its end when the current walk over it began;
        /// the first call records `isComplete`.
        ///
        /// - Parameter isComplete: Whether the feed currently counts as read to its end.
        mutating func wasComplete(_ isComplete: Bool) -> Bool {
            guard let last = walks.indices.last else { return isComplete }
            let was = walks[last].wasComplete ?? isComplete
            walks[last].wasComplete = was
            return was
        }

        /// Advances past a page.
        ///
        /// - Returns: Whether the feed has been read to its end without gaps; and, if its walk has
        ///   ended, the first page of the feed.
        mutating func took(
            _ page: RemotePage, _ content: RemoteContent, news: [Bool], isComplete: Bool
        ) -> (isWhole: Bool, ended: RemotePage?) {
            guard var walk = walks.popLast() else { return (false, nil) }
            readCount += 1
            // If the feed is a single page, no row can be missed.
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
                // Rows may have moved between pages during the reading, so read the feed again
                // until it contains nothing new.
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

        /// Skips an unreadable feed until the next sync; returns its first page.
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
        report.unreadable += content.refused.map(login.redacting)
        let isHeld = try RemoteRow.isComplete(remote.name, feed: page.feed, in: log)
        let isComplete = self.reading.wasComplete(isHeld)
        let remote = remote.name
        let read = content
        let reading = reading
        // The links in known observations have already been read, unless the feed was never read to
        // its end. New links are stored with the observations, because the sync may end before the
        // links are read.
        func others(_ recorded: EventLog.RecordedEvents) -> [RemotePage] {
            read.others(isNew: recorded.isNew, all: !isComplete).filter { reading.isNew($0) }
        }
        let complete = RemoteRow.complete(remote, feed: page.feed)
        // If the sync ended after this page, the pages between this page and the known pages would
        // never be requested. The feed therefore does not count as complete until they have been
        // read.
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
            page, content, news: recorded.isNew, isComplete: isComplete)
        let isKnown = isWhole || isComplete && ended != nil
        if isKnown, !isHeld || leavesGap(recorded) { rows.append(complete) }
        if let ended { rows.append(RemoteRow.lead(remote, ended, isOpen: false)) }
        if let missing = content.missing {
            self.reading.drop(missing.feeds)
            let message = login.redacting(missing.message)
            if !report.missing.contains(message) { report.missing.append(message) }
        }
        if !rows.isEmpty { try log.setSyncRows(rows) }
    }

    /// Starts every feed from the beginning, and adds the links that earlier syncs did not read.
    mutating func beginReading() throws {
        readingPosition = try log.currentHead()
        let now = now
        fresh = try refreshesAll ? RemoteFreshness() : RemoteFreshness(remote, at: now, in: log)
        let leads = try RemoteRow.leads(remote.name, in: log)
            .filter { fresh.end(of: $0, remote, at: now) == nil }
        reading.begin(connector, login.account, now: now, leads: leads)
        readingTurn = connector.turn(after: now) ?? .max
        (readingBegan, isReading) = (now, true)
        (report.fresh, report.freshUntil) = (0, nil)
        hasGivenUp = false
    }

    /// Returns the next page to request, skipping fresh pages.
    mutating func nextPage() -> RemotePage? {
        while let page = reading.next {
            guard let end = noteFresh(page) else { return page }
            reading.skip()
            report.fresh += 1
            report.freshUntil = min(report.freshUntil ?? .max, end)
        }
        return nil
    }

    /// Returns the time at which the next page expires; nil if it is not fresh.
    @discardableResult
    private mutating func noteFresh(_ page: RemotePage) -> UInt64? {
        guard let end = fresh.end(of: page, remote, at: now) else { return nil }
        reading.noteFresh(page, until: end)
        return end
    }

    /// Skips an unreadable feed until the next sync, or permanently if it no longer exists.
    mutating func giveUp(_ page: RemotePage, _ failure: SyncFailure) throws {
        if failure.code != .notFound { hasGivenUp = true }
        guard let feed = reading.giveUp(page, failure, &report), failure.code == .notFound else {
            return
        }
        try log.setSyncRows([RemoteRow.lead(remote.name, feed, isOpen: false)])
    }
}

extension RemoteContent {
    fileprivate func others(isNew: [Bool], all: Bool) -> [RemotePage] {
        leads.compactMap { lead in
            all || lead.sighting.map { isNew[$0] } ?? true ? lead.page : nil
        }
    }
}
