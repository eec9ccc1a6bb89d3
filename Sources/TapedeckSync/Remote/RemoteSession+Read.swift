internal import TapedeckLog
internal import TapedeckModel

extension RemoteSession {
    /// The state of a pass over the remote's pages: the pages that are still to be read.
    struct Reading {
        /// The progress of reading one feed; a feed whose rows move is read in several rounds.
        private struct Walk {
            var feed: RemotePage
            var page: RemotePage
            var hasNews = false
            var rounds = 1
            /// Whether the feed was linked from another page, and the version that was linked.
            var isLead = false
            var version: String?
            /// The number of pages read in this round.
            var pageCount = 0
            /// The lists that continue from page to page, and the time of the first response.
            private var lists: [String: Set<String>] = [:]
            private var readAt: Int64?
            /// The lists that do not continue on other pages, by name.
            private var documents: [String: WholeList] = [:]
            /// The list on the first page, if the feed's new rows appear only above known rows;
            /// otherwise nil.
            private(set) var firstPart: ListPart?
            /// Whether a part of a page was invalid.
            private var isUnreadable = false
            /// Whether to read all pages, even if they were read before.
            var readsAll = false
            /// Whether at least half of the first page was new.
            var isMostlyNew = false
            /// The mark of the feed at the beginning of the walk.
            var covered: String?
            /// The time up to which the walk covers the feed.
            var settled: Int64?
            /// The number of failures of this feed, and the number of pages read before the first
            /// failure.
            var failures = (count: 0, readBefore: 0)

            init(_ feed: RemotePage) { (self.feed, page) = (feed, feed) }

            init(_ lead: FeedLead) {
                self.init(lead.page)
                (isLead, version) = (true, lead.version)
            }

            /// The walk for the next round.
            var again: Walk {
                var walk = Walk(feed)
                (walk.isLead, walk.version, walk.rounds) = (isLead, version, rounds + 1)
                // Keep the lists, because a row that is missed in one round may be seen in another.
                (walk.lists, walk.isUnreadable) = (lists, isUnreadable)
                return walk
            }

            /// The time up to which the feed had been read before the walk.
            private var coveredTime: Int64? { covered.flatMap { Int64($0) } }

            /// Returns whether the rest of the feed has been read before.
            func isCovered(_ span: FeedSpan?) -> Bool {
                guard !readsAll, let span, let covered = coveredTime else { return false }
                return span.oldest <= covered
            }

            /// Adds the lists of a page.
            mutating func add(_ content: RemoteContent, at date: Int64?) {
                if pageCount == 0 { readAt = date }
                isUnreadable = isUnreadable || !content.refused.isEmpty
                if pageCount == 0, content.span != nil { firstPart = content.pagedList }
                for part in content.lists {
                    if case .page = part.extent {
                        lists[part.name, default: []].formUnion(part.entries)
                    } else if let date {
                        documents[part.name] = WholeList(
                            name: part.name, entries: Set(part.entries), readAt: date,
                            isComplete: part.extent == .whole)
                    }
                }
            }

            /// Returns the lists that the walk has read completely.
            ///
            /// - Parameter isWhole: Whether the walk covers everything that the feed contains.
            func wholeLists(_ isWhole: Bool) -> [WholeList] {
                var found = Array(documents.values)
                if isWhole, let readAt {
                    found += lists.map {
                        WholeList(
                            name: $0.key, entries: $0.value, readAt: readAt, version: version,
                            total: $0.key == firstPart?.name ? firstPart?.total : nil)
                    }
                }
                return found
            }

            /// Returns whether the walk covers everything that the feed contains.
            func isWhole(_ content: RemoteContent) -> Bool {
                content.next == nil && !isUnreadable && readAt != nil
            }

            /// The mark to record at the end of the walk; nil if it would not save a request.
            var mark: String? {
                if let version { return version == covered ? nil : version }
                // Do not record a mark for every new message in a chat.
                guard let settled, pageCount > 1 || isMostlyNew else { return nil }
                if let covered = coveredTime, settled <= covered { return nil }
                return String(settled)
            }
        }

        /// A feed whose walk has ended.
        struct Ended {
            /// The first page of the feed.
            var feed: RemotePage
            /// The mark to record; nil if the recorded mark is still valid.
            var mark: String?
            /// Whether the last page of the feed was read.
            var hasReachedEnd = false
            /// Whether the feed was read from its beginning to its end, without missing a row.
            var isWhole = false
            /// The list on the first page, if the feed's new rows appear only above known rows;
            /// otherwise nil.
            var firstPart: ListPart?
            /// The lists that were read completely.
            var lists: [WholeList] = []
        }

        /// The maximum number of times that a feed with moving rows is read in one sync.
        private static let roundsMax = 3
        /// The number of failures of a single feed after which the feed is skipped until the next
        /// pass.
        private static let failuresMax = 3

        private let rules: ReadingRules
        private var walks: [Walk] = []
        private var seen: Set<RemotePage> = []
        private var leadCount = 0
        /// The number of pages that have been read.
        private(set) var readCount = 0
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
            leads: [FeedLead]
        ) {
            guard let account else { return }
            self = Reading(rules)
            let feeds = connector.feeds(account, now: now)
            let leads = leads.prefix(rules.leadsMax)
            walks = leads.reversed().map(Walk.init)
            walks += feeds.reversed().map { Walk($0) }
            seen = Set(feeds).union(leads.map(\.page))
            (feedCount, leadCount) = (feeds.count, leads.count)
        }

        /// Adds new feeds, which are read next, and drops the feeds that are not in `feeds`; the
        /// other feeds continue where they left off.
        mutating func change(to feeds: [RemotePage]) {
            let dropped = walks.filter { !$0.isLead && !feeds.contains($0.feed) }.map(\.feed)
            walks.removeAll { !$0.isLead && dropped.contains($0.feed) }
            seen.subtract(dropped)
            walks += feeds.filter { seen.insert($0).inserted }.reversed().map { Walk($0) }
            feedCount = feeds.count
        }

        // MARK: Freshness

        /// Returns whether a page is the only page of its feed and can therefore be skipped on its
        /// own.
        func isWholeFeed(_ page: RemotePage, _ content: RemoteContent) -> Bool {
            walks.last?.feed == page && content.next == nil && !content.moves
        }

        /// Records the time at which a fresh feed expires.
        mutating func noteFresh(_ page: RemotePage, until end: UInt64) {
            guard walks.last?.isLead == false else { return }
            freshFeeds[page] = end
        }

        /// Skips the next page.
        mutating func skip() { walks.removeLast() }

        /// The earliest time at which a fresh feed expires, in milliseconds since 1970; nil if no
        /// feed is fresh.
        var freshUntil: UInt64? { freshFeeds.values.min() }

        /// Whether every feed is fresh.
        var isFresh: Bool { freshFeeds.count == feedCount }

        // MARK: Failures

        /// Postpones the failing page until the other feeds, except linked ones, have been read; if
        /// only linked feeds are left, until those have been read.
        ///
        /// Returns false if there is nothing else to read.
        mutating func postpone() -> Bool {
            guard walks.count > 1, let walk = walks.popLast() else { return false }
            let leads = walks.prefix { $0.isLead }.count
            walks.insert(walk, at: walk.isLead || leads == walks.count ? 0 : leads)
            return true
        }

        /// Records a failure of the next page.
        ///
        /// - Returns: Whether the page keeps failing although other pages could be read.
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

        /// Returns whether a page is new to this pass and does not belong to a missing feed.
        func isNew(_ page: RemotePage) -> Bool {
            !seen.contains(page) && !missing.contains(where: page.feed.hasPrefix)
        }

        /// Whether the next page is the first of its feed.
        var isAtStart: Bool { walks.last.map { $0.page == $0.feed } ?? false }

        /// Returns whether the mark of the next page's feed affects what is read or recorded.
        func usesMark(for content: RemoteContent) -> Bool {
            content.span != nil || walks.last?.version != nil
        }

        /// Advances past a page.
        ///
        /// - Parameters:
        ///   - news: Whether each observation of the page was new.
        ///   - date: The time of the response, if known.
        ///   - covered: The feed's mark, as recorded by any device.
        ///   - readsAll: Whether to read all pages; used with the first page.
        ///   - leads: The linked feeds to read.
        ///
        /// Returns the feed if its walk has ended.
        mutating func took(
            _ content: RemoteContent, at date: Int64?, news: [Bool], covered: String?,
            readsAll: Bool, leads: [FeedLead]
        ) -> Ended? {
            guard var walk = walks.popLast() else { return nil }
            readCount += 1
            walk.add(content, at: date)
            let newCount = news.count { $0 }
            if walk.pageCount == 0 {
                walk.isMostlyNew = newCount > 0 && newCount * 2 >= news.count
                (walk.covered, walk.settled) = (covered, content.span?.settled)
                walk.readsAll = readsAll
            }
            walk.pageCount += 1
            walk.hasNews = walk.hasNews || newCount > 0
            var ended: Ended?
            if content.missing != nil {
                // If the feed disappears after its first pages were read, those pages prove nothing
                // about the rest.
                ended = Ended(
                    feed: walk.feed, mark: walk.version, lists: walk.wholeLists(false))
            } else if let next = content.next, !walk.isCovered(content.span) {
                walk.page = next
                walks.append(walk)
            } else if content.next == nil, content.moves, walk.pageCount > 1, walk.hasNews {
                // Rows may have moved between pages while the feed was being read, so read it again
                // until it contains nothing new. A feed with a single page cannot miss a row in
                // this way.
                if walk.rounds < Reading.roundsMax {
                    walks.append(walk.again)
                } else {
                    ended = Ended(feed: walk.feed)
                }
            } else {
                let isWhole = walk.isWhole(content)
                ended = Ended(
                    feed: walk.feed, mark: walk.mark, hasReachedEnd: content.next == nil,
                    isWhole: isWhole, firstPart: walk.firstPart, lists: walk.wholeLists(isWhole))
            }
            let room = max(0, rules.leadsMax - leadCount)
            let others = leads.filter { seen.insert($0.page).inserted }.prefix(room).map(Walk.init)
            leadCount += others.count
            walks.insert(contentsOf: others.reversed(), at: rules.feedsComeFirst ? 0 : walks.count)
            return ended
        }

        /// Skips an unreadable feed until the next sync.
        ///
        /// Returns the skipped feed, so that the caller can record its mark if the remote no longer
        /// has the feed.
        mutating func giveUp(
            _ page: RemotePage, _ failure: SyncFailure, _ report: inout RemoteReport
        ) -> Ended? {
            let walk = walks.popLast()
            let name = page.place.isEmpty ? page.feed : "\(page.feed) \(page.place)"
            report.unreadable.append("\(name): \(failure.message)")
            return walk.map { Ended(feed: $0.feed, mark: $0.version) }
        }
    }

    mutating func took(_ response: RemoteResponse, of page: RemotePage) throws {
        guard let account = login.account else { return }
        let content = try connector.read(response, of: page, account)
        report.unreadable += content.refused.map(login.redacting)
        let own = reading.usesMark(for: content) ? [page.feed] : []
        let marks = try marks(of: own + content.leads.map(\.page.feed), account)
        let leads = content.leads.filter { lead in
            reading.isNew(lead.page) && isDue(lead, marks)
        }
        // Links are stored with the observations, because the sync may end before it reads them.
        let rows = [row.row] + leads.map { RemoteRow.lead(remote.name, $0) }
        var freshRows: [SyncRow] = []
        if connector.manifest.reading.keepsFresh, reading.isWholeFeed(page, content) {
            freshRows = [fresh.take(page, remote, response, at: row.contactedAt)]
            noteFresh(page)
        }
        let recorded = try log.record(content.sightings, rows: rows)
        delivering.passOver(recorded)
        report.pulled += recorded.recorded
        let readsAll = try reading.isAtStart && mustReadAll(content)
        let ended = reading.took(
            content, at: response.date, news: recorded.isNew, covered: marks[page.feed],
            readsAll: readsAll, leads: leads)
        if let ended { try record(ended, account, freshRows) }
        if let missing = content.missing {
            reading.drop(missing.feeds)
            let message = login.redacting(missing.message)
            if !report.missing.contains(message) { report.missing.append(message) }
        }
    }

    /// Records that a feed has been read, and which entries were removed from the lists that were
    /// read completely.
    ///
    /// - Parameter freshRows: The row with the time at which the feed expires. It is written only
    ///   now, so that a feed that was only partly read is read again.
    private mutating func record(
        _ ended: Reading.Ended, _ account: RemoteAccount, _ freshRows: [SyncRow] = []
    ) throws {
        var removals = try removals(from: ended.lists, account)
        if let part = ended.firstPart {
            try remember(part, isAtEnd: ended.hasReachedEnd, &removals.memories)
        }
        var (events, rows) = (removals.events, freshRows)
        rows += removals.memories.map { RemoteRow.list(remote.name, $0.key, $0.value) }
        readFeeds[ended.feed.feed] = readingPosition
        if ended.isWhole, !removals.isPartial {
            wholeFeeds[ended.feed.feed] = readingPosition
        }
        rows.append(RemoteRow.endedLead(remote.name, ended.feed))
        rows.append(RemoteRow.endedFailure(remote.name, ended.feed.feed))
        // A list that is suddenly empty is read again.
        if let mark = ended.mark, !removals.isDoubtful {
            var event = FeedRead()
            (event.system, event.feed, event.mark) = (remote.system, ended.feed.feed, mark)
            var proposed = try ProposedEvent(event)
            proposed.tags = [try FeedCoverage.tag(ended.feed.feed, of: remote, account)]
            events.append(proposed)
        }
        delivering.passOver(try log.record(events, rows: rows))
    }

    /// Returns the marks up to which any device of the user has read feeds.
    private func marks(
        of feeds: [String], _ account: RemoteAccount
    ) throws -> [String: String] {
        if feeds.isEmpty { return [:] }
        return try runner.read([FeedCoverage().name]) { views in
            var marks: [String: String] = [:]
            for feed in Set(feeds) {
                let tag = try FeedCoverage.tag(feed, of: remote, account)
                marks[feed] = try views.state(of: FeedCoverage(), key: tag)?.mark
            }
            return marks
        }
    }

    /// Returns whether the linked version of a feed still has to be read.
    private func isDue(_ lead: FeedLead, _ marks: [String: String]) -> Bool {
        if lead.isEmpty, marks[lead.page.feed] == nil { return false }
        guard let version = lead.version, !refreshesAll else { return true }
        return marks[lead.page.feed] != version
    }

    /// Starts every feed from the beginning, and adds the links that earlier syncs did not read.
    mutating func beginReading() throws {
        readingPosition = try log.currentHead()
        let now = now
        fresh = try refreshesAll ? RemoteFreshness() : RemoteFreshness(remote, at: now, in: log)
        let leads = try openLeads().filter { fresh.end(of: $0.page, remote, at: now) == nil }
        reading.begin(connector, login.account, now: now, leads: leads)
        readingTurn = connector.turn(after: now) ?? .max
        (readingBegan, isReading) = (now, true)
        (report.fresh, report.freshUntil) = (0, nil)
        hasGivenUp = false
    }

    /// Returns the linked feeds that earlier syncs did not read and that no other device has read
    /// in the meantime.
    private func openLeads() throws -> [FeedLead] {
        guard let account = login.account else { return [] }
        let leads = try RemoteRow.leads(remote.name, in: log)
        let marks = try marks(of: leads.map(\.page.feed), account)
        var due: [FeedLead] = []
        var rows = try RemoteRow.former(remote.name, in: log).map { SyncRow($0.name, nil) }
        for lead in leads {
            if isDue(lead, marks) {
                due.append(lead)
            } else {
                rows.append(RemoteRow.endedLead(remote.name, lead.page))
            }
        }
        if !rows.isEmpty { try log.setSyncRows(rows) }
        return due
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

    /// Returns the time at which the next page expires; nil if that page is not fresh.
    @discardableResult
    private mutating func noteFresh(_ page: RemotePage) -> UInt64? {
        guard let end = fresh.end(of: page, remote, at: now) else { return nil }
        reading.noteFresh(page, until: end)
        return end
    }

    /// Skips an unreadable feed until the next sync, or permanently if the feed no longer exists.
    mutating func giveUp(_ page: RemotePage, _ failure: SyncFailure) throws {
        if failure.code != .notFound {
            hasGivenUp = true
            try log.setSyncRows([
                RemoteRow.failedReading(
                    remote.name, page.feed, login.redacting(failure), at: now)
            ])
        }
        guard let ended = reading.giveUp(page, failure, &report), failure.code == .notFound,
            let account = login.account
        else { return }
        try record(ended, account)
    }
}
