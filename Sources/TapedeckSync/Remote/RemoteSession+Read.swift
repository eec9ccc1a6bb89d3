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
            /// The entries of these lists in this round, and the lists that repeated an entry.
            private var shown: [String: Set<String>] = [:]
            private var repeating: Set<String> = []
            private(set) var readAt: Int64?
            /// The lists that do not continue on other pages, by name.
            private var documents: [String: WholeList] = [:]
            /// The list on the first page, if the feed's new rows appear only above known rows;
            /// otherwise nil.
            private(set) var firstPart: ListPart?
            /// Whether a part of a page was invalid.
            private var isUnreadable = false
            /// Whether to read all pages, including pages that an earlier sync has read.
            var readsAll = false
            /// Whether at least half of the first page was new.
            var isMostlyNew = false
            /// The mark of the feed at the beginning of the walk.
            var covered: String?
            /// The time up to which the walk covers the feed.
            var settled: Int64?
            /// Whether the walk continues a walk of an earlier sync, and the time of the oldest row
            /// that the earlier sync has read.
            private(set) var isResumed = false
            private var resumedAt: Int64?
            /// The number of failures of this feed, and the number of pages read before the first
            /// failure.
            var failures = (count: 0, readBefore: 0)

            init(_ feed: RemotePage) { (self.feed, page) = (feed, feed) }

            init(_ lead: FeedLead) {
                self.init(lead.page)
                (isLead, version) = (true, lead.version)
            }

            init(_ interrupted: InterruptedWalk) {
                self.init(interrupted.feed)
                page = RemotePage(interrupted.feed.feed, interrupted.place)
                (settled, resumedAt) = (interrupted.span?.settled, interrupted.span?.oldest)
                firstPart = interrupted.firstPart
                (isResumed, hasNews, pageCount) = (true, true, 1)
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

            /// Returns whether an earlier sync has read the rest of the feed.
            func isCovered(_ span: FeedSpan?) -> Bool {
                guard !readsAll, let span, let covered = coveredTime else { return false }
                return span.oldest <= covered
            }

            /// Returns whether the walk continues after a page.
            func continues(after content: RemoteContent) -> Bool {
                content.next != nil && content.missing == nil && !isCovered(content.span)
            }

            /// Notes what is known about the walk after a page; see `Reading.took`.
            mutating func note(
                _ content: RemoteContent, news: [Bool], covered: String?, readsAll: Bool
            ) {
                let newCount = news.count { $0 }
                if pageCount == 0 {
                    isMostlyNew = newCount > 0 && newCount * 2 >= news.count
                    (settled, self.readsAll) = (content.span?.settled, readsAll)
                    if content.span != nil { firstPart = content.pagedList }
                }
                if pageCount == 0 || isResumed { self.covered = covered }
                if let start = resumedAt {
                    // If the page does not follow the rows that have been read, the walk covers
                    // nothing.
                    if content.span.map({ $0.oldest > start }) ?? true { settled = nil }
                    resumedAt = nil
                }
                hasNews = hasNews || newCount > 0
            }

            /// Returns the walk to store in case the sync is interrupted after a page; nil if
            /// continuing it would not save a request.
            func interrupted(after content: RemoteContent) -> InterruptedWalk? {
                guard let next = content.next, continues(after: content),
                    hasNews || settled != nil,
                    !(readsAll && covered != nil)
                else { return nil }
                var walk = InterruptedWalk(feed: feed, place: next.place)
                if let settled {
                    guard let oldest = content.span?.oldest else { return nil }
                    walk.span = FeedSpan(settled: settled, oldest: oldest)
                }
                walk.firstPart = firstPart.map {
                    ListPart($0.name, Array($0.entries.prefix(1)), $0.extent)
                }
                return walk
            }

            /// Adds the lists of a page.
            mutating func add(_ content: RemoteContent, at date: Int64?) {
                if pageCount == 0 { readAt = date }
                isUnreadable = isUnreadable || !content.refused.isEmpty
                for part in content.lists {
                    if case .page = part.extent {
                        lists[part.name, default: []].formUnion(part.entries)
                        if !shown[part.name, default: []].isDisjoint(with: part.entries) {
                            repeating.insert(part.name)
                        }
                        shown[part.name, default: []].formUnion(part.entries)
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
                            total: $0.key == firstPart?.name ? firstPart?.total : nil,
                            hasRepeats: repeating.contains($0.key))
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
            /// The version that was linked, if the feed was read to its end; otherwise nil.
            var version: String?
            /// The mark at the beginning of the walk.
            var covered: String?
            /// The time of the first response, if known.
            var readAt: Int64?
            /// Whether the last page of the feed was read.
            var hasReachedEnd = false
            /// Whether the feed was read from its beginning to its end, without missing a row.
            var isWhole = false
            /// The list on the first page, if the feed's new rows appear only above known rows;
            /// otherwise nil.
            var firstPart: ListPart?
            /// The lists that were read completely.
            var lists: [WholeList] = []
            /// Whether the walk began in an earlier sync; the feed is read from its beginning next.
            var isResumed = false
        }

        /// The maximum number of times that a feed whose rows can move between pages is read in one
        /// sync.
        private static let roundsMax = 3
        /// The number of failures of a single feed after which the feed is skipped until the next
        /// pass.
        private static let failuresMax = 3
        /// The maximum number of lists to read in one pass only because of the time since their
        /// last reading.
        private static let oldLeadsMax = 100

        private let rules: ReadingRules
        private var walks: [Walk] = []
        private var seen: Set<RemotePage> = []
        /// The feeds that the pages of this pass link to.
        private var linked: Set<RemotePage> = []
        /// The entries of the lists that were read completely in this pass, by name; linked lists
        /// are left out.
        private(set) var wholeLists: [String: Set<String>] = [:]
        private var leadCount = 0
        private var oldLeadCount = 0
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
        /// - Parameters:
        ///   - leads: Linked pages that earlier syncs did not read.
        ///   - interrupted: The walks that earlier syncs did not end, by their first pages; each
        ///     is continued before its feed is read from the beginning.
        mutating func begin(
            _ connector: any Connector, _ account: RemoteAccount?, now: UInt64,
            leads: [FeedLead], interrupted: [RemotePage: InterruptedWalk]
        ) {
            guard let account else { return }
            self = Reading(rules)
            let feeds = connector.feeds(account, now: now)
            let leads = leads.prefix(rules.leadsMax)
            let starts = leads.reversed().map(Walk.init) + feeds.reversed().map { Walk($0) }
            walks = starts.flatMap { walk in
                [walk] + (interrupted[walk.feed].map { [Walk($0)] } ?? [])
            }
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

        /// Whether the next page belongs to a linked list.
        var isAtLead: Bool { walks.last?.isLead ?? false }

        /// Records a failure of the next page.
        ///
        /// - Parameter isLead: Whether any page that was read in this pass shows that other pages
        ///   can be read; otherwise, it must have been read after the first failure.
        /// - Returns: Whether the page keeps failing although other pages could be read.
        mutating func failsAlone(isLead: Bool) -> Bool {
            guard let last = walks.indices.last else { return false }
            if walks[last].failures.count == 0 { walks[last].failures.readBefore = readCount }
            walks[last].failures.count += 1
            return walks[last].failures.count >= Reading.failuresMax
                && readCount > (isLead ? 0 : walks[last].failures.readBefore)
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

        /// The feed whose next page continues a walk of an earlier sync; nil if there is none.
        var resumedFeed: RemotePage? {
            walks.last.flatMap { $0.isResumed ? $0.feed : nil }
        }

        /// Whether the next page is the first of its feed.
        var isAtStart: Bool { walks.last.map { $0.page == $0.feed } ?? false }

        /// Returns whether the mark of the next page's feed must be looked up, because it affects
        /// what is read or recorded.
        func usesMark(for content: RemoteContent) -> Bool {
            content.span != nil || walks.last?.version != nil
        }

        /// Returns the walk to store in case the sync is interrupted after a page; nil if the walk
        /// need not be continued.
        ///
        /// The parameters are the same as those of `took`.
        func interrupted(
            after content: RemoteContent, news: [Bool], covered: String?, readsAll: Bool
        ) -> InterruptedWalk? {
            guard var walk = walks.last else { return nil }
            walk.note(content, news: news, covered: covered, readsAll: readsAll)
            return walk.interrupted(after: content)
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
            walk.note(content, news: news, covered: covered, readsAll: readsAll)
            walk.add(content, at: date)
            walk.pageCount += 1
            var ended: Ended?
            if content.missing != nil {
                // If the feed disappears after its first pages were read, those pages prove nothing
                // about the rest.
                ended = Ended(
                    feed: walk.feed, mark: walk.version, lists: walk.wholeLists(false))
            } else if let next = content.next, walk.continues(after: content) {
                walk.page = next
                walks.append(walk)
            } else if content.next == nil, content.moves, walk.pageCount > 1, walk.hasNews,
                !walk.isResumed
            {
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
                    feed: walk.feed, mark: walk.mark, version: walk.version, covered: walk.covered,
                    readAt: walk.readAt, hasReachedEnd: content.next == nil,
                    isWhole: isWhole, firstPart: walk.firstPart, lists: walk.wholeLists(isWhole))
            }
            ended?.isResumed = walk.isResumed
            let room = max(0, rules.leadsMax - leadCount)
            let others = leads.filter { seen.insert($0.page).inserted }.prefix(room).map(Walk.init)
            leadCount += others.count
            walks.insert(contentsOf: others.reversed(), at: rules.feedsComeFirst ? 0 : walks.count)
            return ended
        }

        /// Skips the next page's feed, and returns the feed, so that the caller can record its mark if
        /// the feed no longer exists.
        mutating func skipUnreadable(
            _ page: RemotePage, _ failure: SyncFailure, _ report: inout RemoteReport
        ) -> Ended? {
            let walk = walks.popLast()
            let name = page.place.isEmpty ? page.feed : "\(page.feed) \(page.place)"
            report.unreadable.append("\(name): \(failure.message)")
            return walk.map {
                Ended(feed: $0.feed, mark: $0.version, isResumed: $0.isResumed)
            }
        }

        /// The feed that the next page belongs to, if an earlier sync found the link to the feed
        /// and no page of this pass contains that link; otherwise nil.
        var formerLead: RemotePage? {
            walks.last.flatMap { walk in
                walk.isLead && !walk.isResumed && !linked.contains(walk.feed) ? walk.feed : nil
            }
        }

        /// Returns whether the pass may read another list only because of the time since its last
        /// reading, and counts the list.
        mutating func takesOldLead() -> Bool {
            guard oldLeadCount < Reading.oldLeadsMax else { return false }
            oldLeadCount += 1
            return true
        }

        /// Notes the lists that a feed contains.
        mutating func note(_ ended: Ended) {
            for list in ended.lists where list.version == nil && !list.hasRepeats {
                wholeLists[list.name] = list.entries
            }
        }

        /// Notes the feeds that a page links to, whether or not they will be read.
        mutating func note(links: [FeedLead]) { linked.formUnion(links.map(\.page)) }
    }

    mutating func took(_ response: RemoteResponse, of page: RemotePage) throws {
        guard let account = login.account else { return }
        let content = try connector.read(response, of: page, account)
        report.unreadable += content.refused.map(login.redacting)
        reading.note(links: content.leads)
        let own = reading.usesMark(for: content) ? [page.feed] : []
        let linked = content.leads.map(\.page.feed)
        let marks = try marks(of: own + linked, account)
        let shown = try shownCounts(of: linked)
        var leads: [FeedLead] = []
        for lead in content.leads where reading.isNew(lead.page) {
            let isOld = isOld(lead, marks, at: response.date)
            if isDue(lead, marks, shown) || isOld && reading.takesOldLead() { leads.append(lead) }
        }
        // Links are stored with the observations, because the sync may end before it reads them.
        let rows = [row.row] + leads.map { RemoteRow.lead(remote.name, $0) }
        var freshRows: [SyncRow] = []
        if connector.manifest.reading.keepsFresh, reading.isWholeFeed(page, content) {
            freshRows = [fresh.take(page, remote, response, at: row.contactedAt)]
            noteFresh(page)
        }
        let readsAll = try reading.isAtStart && mustReadAll(content)
        let recorded = try log.record(content.observations, rows: rows) { recorded in
            let walk = reading.interrupted(
                after: content, news: recorded.isNew, covered: marks[page.feed],
                readsAll: readsAll)
            return walk.map { [RemoteRow.walk(remote.name, $0)] } ?? []
        }
        delivering.passOver(recorded)
        report.pulled += recorded.recorded
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
        var lists = ended.lists
        if let mark = ended.covered.flatMap({ CountMark($0) }), mark.readAt != nil {
            for index in lists.indices where lists[index].version != nil {
                lists[index].surplus = mark.count - mark.shown
            }
        }
        var removals = try removals(from: lists, account)
        reading.note(ended)
        if let part = ended.firstPart {
            try remember(part, isAtEnd: ended.hasReachedEnd, &removals.memories)
        }
        var (events, rows) = (removals.events, freshRows)
        rows += removals.memories.map { RemoteRow.list(remote.name, $0.key, $0.value) }
        if ended.version != nil, !events.isEmpty {
            // The mark contains the number of entries after the removals.
            delivering.passOver(try log.record(events, rows: rows))
            (events, rows) = ([], [])
        }
        rows.append(RemoteRow.endedWalk(remote.name, ended.feed))
        if !ended.isResumed {
            readFeeds[ended.feed.feed] = readingPosition
            if ended.isWhole, !removals.isPartial {
                wholeFeeds[ended.feed.feed] = readingPosition
            }
            rows.append(RemoteRow.endedLead(remote.name, ended.feed))
            rows.append(RemoteRow.endedFailure(remote.name, ended.feed.feed))
        }
        // A list that is suddenly empty is read again.
        let isSure = ended.isWhole && !removals.isPartial
        if !removals.isDoubtful,
            let mark = try countMark(of: ended, isSure: isSure)?.text ?? ended.mark
        {
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

    /// Returns the numbers of entries that the store shows, for the feeds whose links report such
    /// numbers.
    private func shownCounts(of feeds: [String]) throws -> [String: Int] {
        if feeds.isEmpty { return [:] }
        let connector = connector
        return try runner.read(connector.lookups.map(\.name)) { views in
            var counts: [String: Int] = [:]
            for feed in Set(feeds) { counts[feed] = try connector.shownCount(of: feed, views) }
            return counts
        }
    }

    /// Returns the mark of a feed whose links report the number of its entries; nil for other feeds.
    ///
    /// - Parameter isSure: Whether the reading has shown which entries the list contains.
    private func countMark(of ended: Reading.Ended, isSure: Bool) throws -> CountMark? {
        let feed = ended.feed.feed
        guard let count = ended.version.flatMap({ Int($0) }),
            let shown = try shownCounts(of: [feed])[feed]
        else { return nil }
        var mark = CountMark(count: count, shown: shown)
        let before = ended.covered.flatMap { CountMark($0) }
        // If a second reading gives the same two numbers, the remote counts differently.
        let isRepeated = before?.count == count && before?.shown == shown
        if isRepeated || isSure && shown == count {
            mark.readAt = ended.readAt ?? Int64(clamping: now)
        }
        return mark
    }

    /// Returns whether the linked version of a feed still has to be read.
    private func isDue(
        _ lead: FeedLead, _ marks: [String: String], _ shown: [String: Int]
    ) -> Bool {
        let shown = shown[lead.page.feed]
        guard let mark = marks[lead.page.feed] else { return !lead.isEmpty || shown ?? 0 > 0 }
        guard let version = lead.version, !refreshesAll else { return true }
        guard let count = Int(version), let shown else { return mark != version }
        guard let known = CountMark(mark) else { return mark != version || shown != count }
        return known.readAt == nil || known.count != count || known.shown != shown
    }

    /// Returns whether a list must be read again because of the time since its last reading.
    ///
    /// If one entry was removed from the list and another was added, no number has changed. An empty
    /// list cannot change in this way.
    ///
    /// - Parameter date: The time on the remote's clock; nil if it is unknown.
    private func isOld(_ lead: FeedLead, _ marks: [String: String], at date: Int64?) -> Bool {
        guard let date, let mark = marks[lead.page.feed].flatMap({ CountMark($0) }),
            mark.count > 0 || mark.shown > 0
        else { return false }
        return !mark.isRecent(Int64(RemoteSession.wholePause), at: date)
    }

    /// Starts every feed from the beginning, and adds the links that earlier syncs did not read.
    mutating func beginReading() throws {
        readingPosition = try log.currentHead()
        let now = now
        fresh = try refreshesAll ? RemoteFreshness() : RemoteFreshness(remote, at: now, in: log)
        let open = try openLeads()
        let leads = open.filter { fresh.end(of: $0.page, remote, at: now) == nil }
        reading.begin(
            connector, login.account, now: now, leads: leads,
            interrupted: try interruptedWalks(open.map(\.page)))
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
        let shown = try shownCounts(of: leads.map(\.page.feed))
        var due: [FeedLead] = []
        var rows = try RemoteRow.former(remote.name, in: log).map { SyncRow($0.name, nil) }
        for lead in leads {
            if isDue(lead, marks, shown) {
                due.append(lead)
            } else {
                rows.append(RemoteRow.endedLead(remote.name, lead.page))
            }
        }
        if !rows.isEmpty { try log.setSyncRows(rows) }
        return due
    }

    /// Makes the next sync read a feed from its beginning if the remote cannot show the page at
    /// which an interrupted walk continues.
    func forgetInterruptedWalk(after failure: SyncFailure) throws {
        guard let feed = reading.resumedFeed,
            ![.offline, .throttled, .unauthorized].contains(failure.code)
        else { return }
        try log.setSyncRows([RemoteRow.endedWalk(remote.name, feed)])
    }

    /// Returns the walks that earlier syncs did not end and that no other device has ended in the
    /// meantime, by their first pages.
    ///
    /// - Parameter leads: The linked feeds that will be read.
    private func interruptedWalks(
        _ leads: [RemotePage]
    ) throws -> [RemotePage: InterruptedWalk] {
        guard let account = login.account, !refreshesAll else { return [:] }
        let walks = try RemoteRow.walks(remote.name, in: log)
        guard !walks.isEmpty else { return [:] }
        let feeds = Set(connector.feeds(account, now: now) + leads)
        let marks = try marks(of: walks.map(\.feed.feed), account)
        func isOpen(_ walk: InterruptedWalk) -> Bool {
            feeds.contains(walk.feed) && !walk.isCovered(by: marks[walk.feed.feed])
        }
        let ended = walks.filter { !isOpen($0) }
        if !ended.isEmpty {
            try log.setSyncRows(ended.map { RemoteRow.endedWalk(remote.name, $0.feed) })
        }
        return Dictionary(
            walks.filter(isOpen).map { ($0.feed, $0) }, uniquingKeysWith: { first, _ in first })
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

    /// Skips an unreadable feed until the next sync.
    ///
    /// A feed that is not found is requested again as long as the remote links to it, unless the
    /// feeds are independent.
    mutating func giveUp(_ page: RemotePage, _ failure: SyncFailure) throws {
        // The links of earlier syncs are followed last, so all links of this pass are known unless
        // other pages failed or were skipped.
        if failure.code == .notFound, !hasGivenUp, report.fresh == 0,
            let lead = reading.formerLead
        {
            reading.skip()
            return try log.setSyncRows([
                RemoteRow.endedLead(remote.name, lead), RemoteRow.endedWalk(remote.name, lead),
            ])
        }
        // If a walk of an earlier sync cannot be continued, the feed is read from its beginning
        // next.
        let isGone = failure.code == .notFound && connector.manifest.reading.feedsStandAlone
        if failure.code != .notFound || reading.resumedFeed == nil && !isGone {
            hasGivenUp = true
            try log.setSyncRows([
                RemoteRow.failedReading(remote.name, page.feed, failure, at: now)
            ])
        }
        guard let ended = reading.skipUnreadable(page, failure, &report), isGone,
            let account = login.account
        else { return }
        try record(ended, account)
    }
}
