public import TapedeckModel
internal import TapedeckVideo

/// A kind of response of a remote, and how its bytes become events.
///
/// ```swift
/// let resource = try IngestResource.named("tvmaze/schedule")
/// let result = try resource.read(bytes, observedAt: nil)
/// ```
///
/// Reading is pure: no network, no clock, no store. Hostile bytes give refusals and never a crash.
public struct IngestResource: Sendable {
    /// The name, `system/resource`.
    public let name: String
    /// Whether `read` must be told of which show the response speaks.
    public let needsShow: Bool
    /// Whether `read` must be told of which video the response speaks.
    public let needsVideo: Bool
    /// Whether a response is the list of a day, so that `read` can be told of which.
    public let isListing: Bool
    private let reader: @Sendable (JSONValue, IngestContext, inout IngestResult) -> Void

    /// The largest document in bytes.
    public static let documentBytesMax = 268_435_456

    /// Every resource that this program reads.
    public static let all: [IngestResource] = [
        IngestResource(name: "tvmaze/schedule", isListing: true) {
            TVmazeDocuments.schedule($0, web: false, $1, &$2)
        },
        IngestResource(name: "tvmaze/schedule-web", isListing: true) {
            TVmazeDocuments.schedule($0, web: true, $1, &$2)
        },
        IngestResource(name: "tvmaze/show", reader: TVmazeDocuments.shows),
        IngestResource(name: "tvmaze/cast", needsShow: true, reader: TVmazeDocuments.cast),
        IngestResource(name: "tvmaze/search", reader: TVmazeDocuments.search),
        IngestResource(name: "tvmaze/episode", needsShow: true, reader: TVmazeDocuments.episodes),
        IngestResource(name: "shelby/broadcasts", reader: ShelbyDocuments.broadcasts),
        IngestResource(name: "shelby/dashboard", reader: ShelbyV1Lists.dashboard),
        IngestResource(name: "shelby/roll", reader: ShelbyV1Lists.roll),
        IngestResource(name: "birdtube/videos", reader: BirdTubeDocuments.videos),
        IngestResource(
            name: "birdtube/messages", needsVideo: true, reader: BirdTubeDocuments.messages),
    ]

    private init(
        name: String, needsShow: Bool = false, needsVideo: Bool = false, isListing: Bool = false,
        reader: @escaping @Sendable (JSONValue, IngestContext, inout IngestResult) -> Void
    ) {
        self.name = name
        self.needsShow = needsShow
        self.needsVideo = needsVideo
        self.isListing = isListing
        self.reader = reader
    }

    /// The resource of a name; throws `ModelError` with `.usage` for an unknown one.
    public static func named(_ name: String) throws(ModelError) -> IngestResource {
        guard let resource = all.first(where: { $0.name == name }) else {
            throw ModelError(
                .usage, "\"\(name.prefix(80))\" is no resource",
                hint: "known are \(all.map(\.name).joined(separator: ", "))")
        }
        return resource
    }

    /// Reads a response.
    ///
    /// A document that is no JSON, or the remote's error form, is one refusal at `$`; so is one
    /// larger than `documentBytesMax`.
    ///
    /// - Parameters:
    ///   - bytes: the body of the response; a byte-order mark in front is skipped.
    ///   - show: TVmaze's id of the show, where `needsShow`.
    ///   - video: the video beside which is said what the response holds, by its key or any URL form of it,
    ///     where `needsVideo`.
    ///   - list: the name of the list that a dashboard or a roll of Shelby is, as `VideoGroup` has it; nil
    ///     for the user's stream, and for the roll that the response names.
    ///   - listing: what was asked for, where the response is the whole answer to it and `isListing`:
    ///     what an earlier answer had and this one lacks is cancelled. Nil records no such thing.
    ///   - observedAt: Unix milliseconds of the response, such as its `Date` header says; nil if
    ///     unknown.
    ///
    /// Throws `ModelError` with `.usage` where a show or a video is needed and not given, a list is none, or a
    /// listing is told that cannot be one or without the time of the response, with `.invalidVideo` for what is
    /// no video, and with `.invalidTime` for a time before 1970 or after 9999.
    public func read(
        _ bytes: [UInt8], show: Int64? = nil, video: String? = nil, list: String? = nil,
        listing: ListingRequest? = nil, observedAt: Int64? = nil
    ) throws(ModelError) -> IngestResult {
        if needsShow, show.map({ $0 <= 0 }) ?? true {
            throw ModelError(
                .usage, "\(name) does not tell its show", hint: "give the show's id: --show ID")
        }
        if needsVideo, video == nil {
            throw ModelError(
                .usage, "\(name) does not tell its video",
                hint: "give the video's key or its address: --video KEY")
        }
        let key = try video.map { (text) throws(ModelError) in try VideoKey(text) }
        if let list {
            guard case .listed? = VideoGroup(list) else {
                throw ModelError(
                    .usage, "\"\(list.prefix(80))\" is no list",
                    hint: "lists are stream, personal-roll, dashboard/ID and roll/ID")
            }
        }
        if let observedAt, !Timestamps.recorded.contains(observedAt) {
            throw ModelError(.invalidTime, "the time of the response is outside 1970 to 9999")
        }
        if listing != nil {
            guard isListing else {
                throw ModelError(.usage, "\(name) is no list of a day, so it takes no --date")
            }
            guard observedAt != nil else {
                throw ModelError(
                    .usage, "without its time nobody can tell what a list is newer than",
                    hint: "say when the response came: --observed-at TIME")
            }
        }
        var result = IngestResult()
        do {
            let document = try JSONParser.parse(bytes, bytesMax: IngestResource.documentBytesMax)
            let context = IngestContext(
                show: show, video: key?.text, list: list, listing: listing, observedAt: observedAt)
            reader(document, context, &result)
        } catch {
            result.refuse(IngestRefusal("$", error))
        }
        return result
    }
}

/// What a list of a day was asked for with: the parameters of `/schedule` and `/schedule/web`.
public struct ListingRequest: Hashable, Sendable {
    /// The day, `YYYY-MM-DD`.
    public let date: String
    /// The country's code; nil for the United States, of web channels for the whole world.
    public let country: String?

    /// Makes a request.
    ///
    /// Throws `ModelError` with `.invalidTime` for what is no day and `.usage` for what is no country.
    public init(date: String, country: String? = nil) throws(ModelError) {
        guard CalendarDay(date) != nil else {
            throw ModelError(
                .invalidTime, "\"\(date.prefix(20))\" is not a day",
                hint: "write YYYY-MM-DD, such as 2019-07-11")
        }
        self.date = date
        self.country = try country.map { (text) throws(ModelError) in
            try ScheduleScope.checkedCountry(text)
        }
    }
}

/// What a response does not tell about itself.
struct IngestContext: Sendable {
    /// Of which show it speaks.
    var show: Int64?
    /// Beside which video it is said.
    var video: String?
    /// Which list it is.
    var list: String?
    /// What it is the whole answer to.
    var listing: ListingRequest?
    /// Unix milliseconds of the response.
    var observedAt: Int64?

    /// Proposes a sighting; one that breaks a limit is refused at `path`.
    func propose(_ sighting: some Observation, at path: String, in result: inout IngestResult) {
        do {
            result.add(try ProposedEvent(sighting: sighting, observedAt: observedAt))
        } catch let error as ModelError {
            result.refuse(IngestRefusal(path, error))
        } catch {
            result.refuse(IngestRefusal(path, .invalidPayload, "cannot be written"))
        }
    }
}
