public import TapedeckModel
internal import TapedeckVideo

/// A kind of remote response, and the reader that turns it into events.
///
/// ```swift
/// let resource = try IngestResource.named("tvmaze/schedule")
/// let result = try resource.read(bytes, observedAt: nil)
/// ```
///
/// Reading is pure: it uses no network, no clock and no store. Hostile input produces refusals,
/// never a crash.
public struct IngestResource: Sendable {
    /// The name, in the form `system/resource`.
    public let name: String
    /// Whether `read` needs the id of the show that the response belongs to.
    public let needsShow: Bool
    /// Whether `read` needs the key of the video that the response belongs to.
    public let needsVideo: Bool
    /// Whether a response lists one day, so that `read` accepts a `listing`.
    public let isListing: Bool
    private let reader: @Sendable (JSONValue, IngestContext, inout IngestResult) -> Void

    /// The size limit of a document, in bytes.
    public static let documentBytesMax = 268_435_456

    /// All resources that this program reads.
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
        IngestResource(name: "shelby/following", reader: ShelbyV1Lists.following),
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

    /// Returns the resource called `name`; throws `ModelError` with `.usage` if there is none.
    public static func named(_ name: String) throws(ModelError) -> IngestResource {
        guard let resource = all.first(where: { $0.name == name }) else {
            throw ModelError(
                .usage, "\"\(name.prefix(80))\" is not a resource",
                hint: "the resources are \(all.map(\.name).joined(separator: ", "))")
        }
        return resource
    }

    /// Reads a response.
    ///
    /// The result is a single refusal, at the path `$`, if the document is not JSON, is larger than
    /// `documentBytesMax`, or is a remote's error response.
    ///
    /// - Parameters:
    ///   - bytes: The body of the response; a leading byte-order mark is skipped.
    ///   - show: the show's TVmaze id, if `needsShow`.
    ///   - video: The key of the video that the response belongs to, or any form of its URL, if
    ///     `needsVideo`.
    ///   - list: For a Shelby dashboard or roll, the name of the list, as in `VideoGroup`. If nil,
    ///     a dashboard is read as the user's stream, and a roll is identified by the id in the
    ///     response.
    ///   - listing: The request for a day's listing, if the document is the complete response to
    ///     that request; see `isListing`. Episodes that were listed in an earlier response to the
    ///     same request but are missing from this response are cancelled. If nil, nothing is
    ///     cancelled.
    ///   - observedAt: The time of the response in Unix milliseconds, for example from its `Date`
    ///     header; nil if unknown.
    ///
    /// Throws `ModelError` with `.usage` if a required show or video is missing, if the list name
    /// is invalid, or if `listing` is given without `observedAt` or for a resource that does not
    /// support it. Throws `.invalidVideo` for an invalid video, and `.invalidTime` for a time
    /// before 1970 or after 9999.
    public func read(
        _ bytes: [UInt8], show: Int64? = nil, video: String? = nil, list: String? = nil,
        listing: ListingRequest? = nil, observedAt: Int64? = nil
    ) throws(ModelError) -> IngestResult {
        if needsShow, show.map({ $0 <= 0 }) ?? true {
            throw ModelError(
                .usage, "\(name) does not contain the id of its show",
                hint: "specify the show's id with --show ID")
        }
        if needsVideo, video == nil {
            throw ModelError(
                .usage, "\(name) does not contain the key of its video",
                hint: "specify the video's key or URL with --video KEY")
        }
        let key = try video.map { (text) throws(ModelError) in try VideoKey(text) }
        if let list {
            guard case .listed? = VideoGroup(list) else {
                throw ModelError(
                    .usage, "\"\(list.prefix(80))\" is not a list",
                    hint: "lists are stream, personal-roll, dashboard/ID and roll/ID")
            }
        }
        if let observedAt, !Timestamps.recorded.contains(observedAt) {
            throw ModelError(.invalidTime, "the time of the response is not between 1970 and 9999")
        }
        if listing != nil {
            guard isListing else {
                throw ModelError(
                    .usage, "\(name) does not list a single day, so --date does not apply")
            }
            guard observedAt != nil else {
                throw ModelError(
                    .usage, "a listing needs the time of its response",
                    hint: "specify the time with --observed-at TIME")
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

/// The parameters with which a day's list was requested from `/schedule` or `/schedule/web`.
public struct ListingRequest: Hashable, Sendable {
    /// The day, in the format `YYYY-MM-DD`.
    public let date: String
    /// The country's code; nil means the United States for `/schedule`, and all countries for
    /// `/schedule/web`.
    public let country: String?

    /// Creates a request.
    ///
    /// Throws `ModelError` with `.invalidTime` for an invalid day and `.usage` for an invalid
    /// country.
    public init(date: String, country: String? = nil) throws(ModelError) {
        guard CalendarDay(date) != nil else {
            throw ModelError(
                .invalidTime, "\"\(date.prefix(20))\" is not a day",
                hint: "use the format YYYY-MM-DD, such as 2019-07-11")
        }
        self.date = date
        self.country = try country.map { (text) throws(ModelError) in
            try ScheduleScope.checkedCountry(text)
        }
    }
}

/// The facts about a response that its body does not contain.
struct IngestContext: Sendable {
    /// The id of the show that the response belongs to.
    var show: Int64?
    /// The key of the video that the response belongs to.
    var video: String?
    /// The name of the list that the response represents.
    var list: String?
    /// The request to which the document is the complete response.
    var listing: ListingRequest?
    /// The time of the response, in Unix milliseconds.
    var observedAt: Int64?

    /// Returns the events that follow from an observation alone: a video with a malformed id is
    /// recorded as unplayable.
    static func findings(of proposal: ProposedEvent) throws -> [ProposedEvent] {
        try proposal.tags.filter { $0.kind == "video" }.compactMap {
            try ProposedEvent.malformedVideo(VideoKey(tag: $0))
        }
    }

    /// Proposes an observation; if it exceeds a limit, records a refusal at `path`.
    ///
    /// - Parameter reportedAt: See `ProposedEvent.init(observation:observedAt:reportedAt:)`.
    func propose(
        _ observation: some Observation, reportedAt: Int64? = nil, at path: String,
        in result: inout IngestResult
    ) {
        do {
            let proposal = try ProposedEvent(
                observation: observation, observedAt: observedAt, reportedAt: reportedAt)
            result.add(proposal)
            try IngestContext.findings(of: proposal).forEach { result.add($0) }
        } catch let error as ModelError {
            result.refuse(IngestRefusal(path, error))
        } catch {
            result.refuse(IngestRefusal(path, .invalidPayload, "cannot be encoded"))
        }
    }
}
