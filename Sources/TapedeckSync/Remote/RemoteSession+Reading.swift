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
}
