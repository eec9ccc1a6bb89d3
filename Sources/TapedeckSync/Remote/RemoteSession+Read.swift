internal import TapedeckLog
internal import TapedeckModel

extension RemoteSession {
    mutating func took(_ response: RemoteResponse, of page: RemotePage) throws {
        guard let account = login.account else { return }
        let content = try connector.read(response, of: page, account)
        report.unreadable += content.refused.map { login.redacting($0) }
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
