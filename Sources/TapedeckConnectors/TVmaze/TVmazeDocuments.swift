internal import SwiftProtobuf
internal import TapedeckModel
internal import TapedeckSync
internal import TapedeckVideo

/// Converts responses from api.tvmaze.com to observations.
///
/// Many rows and responses embed the same show in different versions. Each observation records the
/// show's version, and the folds use the newest version.
enum TVmazeDocuments {
    /// `/schedule` and `/schedule/web`: episodes, each with its show in `show` or `_embedded.show`.
    ///
    /// If the request is known and the list was read completely, the list itself is recorded as a
    /// separate observation.
    static func schedule(
        _ document: JSONValue, web: Bool, _ context: IngestContext, _ result: inout IngestResult
    ) {
        var listed: [Int64] = []
        var (zones, isOfDay) = (ZoneCache(), false)
        forEachElement(of: document, &result) { (element, result) throws(IngestRefusal) in
            guard let show = try show(of: element) else {
                throw IngestRefusal("\(element.path).show", .invalidPayload, "is missing")
            }
            let observed = try ShowObserved(tvmaze: show)
            let episode = try EpisodeScheduled(
                tvmaze: element, show: observed.show, updated: observed.version)
            context.propose(observed, at: show.path, in: &result)
            context.propose(episode, at: element.path, in: &result)
            listed.append(episode.episode)
            isOfDay = isOfDay || episode.days(of: observed, &zones).contains(context.listing?.date)
        }
        guard let listing = context.listing, result.refused.isEmpty else { return }
        guard listed.isEmpty || isOfDay else {
            result.refuse(
                IngestRefusal(
                    "$", .invalidPayload, "no episode in the list is from \(own: listing.date)"))
            return
        }
        propose(listing, of: listed, web: web, context, &result)
    }

    /// Proposes an observation of the complete list of one day.
    private static func propose(
        _ request: ListingRequest, of episodes: [Int64], web: Bool, _ context: IngestContext,
        _ result: inout IngestResult
    ) {
        var listed = ScheduleListed()
        (listed.date, listed.web) = (request.date, web)
        if let country = request.country ?? (web ? nil : ScheduleScope.countryDefault) {
            listed.country = country
        }
        listed.listedAt = Google_Protobuf_Timestamp(milliseconds: context.observedAt ?? 0)
        listed.episodes = episodes
        context.propose(listed, at: "$", in: &result)
    }

    /// `/shows/{id}` and `/singlesearch/shows`: a show with its embedded objects, or a list of
    /// shows.
    static func shows(
        _ document: JSONValue, _ context: IngestContext, _ result: inout IngestResult
    ) {
        guard case .array = document else {
            forSingle(document, &result) { (element, result) throws(IngestRefusal) in
                try addShow(element, context, &result)
            }
            return
        }
        forEachElement(of: document, &result) { (element, result) throws(IngestRefusal) in
            try addShow(element, context, &result)
        }
    }

    /// `/search/shows`: shows with search scores.
    static func search(
        _ document: JSONValue, _ context: IngestContext, _ result: inout IngestResult
    ) {
        forEachElement(of: document, &result) { (element, result) throws(IngestRefusal) in
            guard let show = try element.object("show").value else {
                throw IngestRefusal("\(element.path).show", .invalidPayload, "is missing")
            }
            try addShow(show, context, &result)
        }
    }

    /// `/shows/{id}/cast`: the cast of a show.
    static func cast(
        _ document: JSONValue, _ context: IngestContext, _ result: inout IngestResult
    ) {
        guard case .array(let list) = document else {
            result.refuse(refusal(ofNoList: document))
            return
        }
        addCast(list, at: "$", show: context.show ?? 0, updated: nil, context, &result)
    }

    /// `/shows/{id}/episodes`, `/episodebynumber` and similar: an episode or a list of episodes.
    static func episodes(
        _ document: JSONValue, _ context: IngestContext, _ result: inout IngestResult
    ) {
        func add(_ element: JSONElement, _ result: inout IngestResult) throws(IngestRefusal) {
            let show = try show(of: element).map { (show) throws(IngestRefusal) in
                try ShowObserved(tvmaze: show)
            }
            let episode = try EpisodeScheduled(
                tvmaze: element, show: show?.show ?? context.show ?? 0, updated: show?.version)
            if let show { context.propose(show, at: element.path, in: &result) }
            context.propose(episode, at: element.path, in: &result)
        }
        if case .array = document {
            forEachElement(of: document, &result, add)
        } else {
            forSingle(document, &result, add)
        }
    }

    // MARK: - Parts

    private static func show(of episode: JSONElement) throws(IngestRefusal) -> JSONElement? {
        if let show = try episode.object("show").value { return show }
        return try episode.object("_embedded").value?.object("show").value
    }

    private static func addShow(
        _ element: JSONElement, _ context: IngestContext, _ result: inout IngestResult
    ) throws(IngestRefusal) {
        let show = try ShowObserved(tvmaze: element)
        context.propose(show, at: element.path, in: &result)
        guard let embedded = try element.object("_embedded").value else { return }
        if let list = try embedded.list("cast") {
            addCast(
                list, at: "\(embedded.path).cast", show: show.show, updated: show.version, context,
                &result)
        }
        func add(_ episode: JSONElement, _ result: inout IngestResult) throws(IngestRefusal) {
            let episode = try EpisodeScheduled(
                tvmaze: episode, show: show.show, updated: show.version)
            context.propose(episode, at: element.path, in: &result)
        }
        forEach(try embedded.list("episodes") ?? [], at: "\(embedded.path).episodes", &result, add)
        for name in ["previousepisode", "nextepisode"] {
            if let episode = try embedded.object(name).value { try add(episode, &result) }
        }
    }

    /// Proposes one observation of an entire cast; unreadable cast members are omitted and reported
    /// as refusals.
    private static func addCast(
        _ list: [JSONValue], at path: String, show: Int64, updated: Int64?,
        _ context: IngestContext, _ result: inout IngestResult
    ) {
        var cast = CastObserved()
        cast.show = show
        if let updated { cast.showUpdated = updated }
        forEach(list, at: path, &result) { (element, _) throws(IngestRefusal) in
            cast.cast.append(try TVmazeCastMember(tvmaze: element))
        }
        context.propose(cast, at: path, in: &result)
    }

    // MARK: - Walking

    private typealias Body = (JSONElement, inout IngestResult) throws(IngestRefusal) -> Void

    private static func forEachElement(
        of document: JSONValue, _ result: inout IngestResult, _ body: Body
    ) {
        guard case .array(let list) = document else {
            result.refuse(refusal(ofNoList: document))
            return
        }
        forEach(list, at: "$", &result, body)
    }

    private static func forEach(
        _ list: [JSONValue], at path: String, _ result: inout IngestResult, _ body: Body
    ) {
        for (index, value) in list.enumerated() {
            do throws(IngestRefusal) {
                try body(JSONElement(value, at: "\(path)[\(index)]"), &result)
            } catch {
                result.refuse(error)
            }
        }
    }

    private static func forSingle(
        _ document: JSONValue, _ result: inout IngestResult, _ body: Body
    ) {
        if let error = remoteError(document) {
            result.refuse(error)
            return
        }
        do throws(IngestRefusal) {
            try body(JSONElement(document, at: "$"), &result)
        } catch {
            result.refuse(error)
        }
    }

    private static func refusal(ofNoList document: JSONValue) -> IngestRefusal {
        remoteError(document)
            ?? IngestRefusal(
                "$", .invalidPayload, "the document is \(own: document.kind), not a list")
    }

    /// Returns a refusal if the document is null or is a TVmaze error, which has a numeric `status`
    /// and no `id`; nil otherwise.
    private static func remoteError(_ document: JSONValue) -> IngestRefusal? {
        if case .null = document {
            return IngestRefusal("$", .remoteError, "the remote returned null")
        }
        guard case .object(let members) = document, members["id"] == nil,
            case .number(let status) = members["status"]
        else { return nil }
        var text: FailureText = "the remote returned status \(status.prefix(10))"
        if case .string(let message) = members["message"], !message.isEmpty {
            text = "\(text): \(message.prefix(200))"
        }
        return IngestRefusal("$", .remoteError, text)
    }
}

extension EpisodeScheduled {
    /// Returns the days whose lists may contain the episode.
    ///
    /// These days are the episode's airdate, and the day on which the episode begins in its
    /// channel's zone, because a schedule may list late-night episodes under the previous day.
    fileprivate func days(of show: ShowObserved, _ zones: inout ZoneCache) -> [String?] {
        guard hasAirstamp else { return [airdate] }
        let channel = show.hasNetwork ? show.network : show.webChannel
        let start = airstamp.milliseconds
        let offset = zones.offsetSeconds(channel.zone, milliseconds: start)
        return [airdate, CalendarDay(milliseconds: start, offsetSeconds: offset).description]
    }
}
