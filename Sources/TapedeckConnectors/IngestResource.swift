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
    private let reader: @Sendable (JSONValue, IngestContext, inout IngestResult) -> Void

    /// The largest document in bytes.
    public static let documentBytesMax = 268_435_456

    /// Every resource that this program reads.
    public static let all: [IngestResource] = [
        IngestResource(name: "tvmaze/schedule", reader: TVmazeDocuments.schedule),
        IngestResource(name: "tvmaze/schedule-web", reader: TVmazeDocuments.schedule),
        IngestResource(name: "tvmaze/show", reader: TVmazeDocuments.shows),
        IngestResource(name: "tvmaze/cast", needsShow: true, reader: TVmazeDocuments.cast),
        IngestResource(name: "tvmaze/search", reader: TVmazeDocuments.search),
        IngestResource(name: "tvmaze/episode", needsShow: true, reader: TVmazeDocuments.episodes),
        IngestResource(name: "shelby/broadcasts", reader: ShelbyDocuments.broadcasts),
        IngestResource(name: "shelby/dashboard", reader: ShelbyV1Lists.dashboard),
        IngestResource(name: "shelby/roll", reader: ShelbyV1Lists.roll),
    ]

    private init(
        name: String, needsShow: Bool = false,
        reader: @escaping @Sendable (JSONValue, IngestContext, inout IngestResult) -> Void
    ) {
        self.name = name
        self.needsShow = needsShow
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
    ///   - list: the name of the list that a dashboard or a roll of Shelby is, as `VideoGroup` has it; nil
    ///     for the user's stream, and for the roll that the response names.
    ///   - observedAt: Unix milliseconds of the response, such as its `Date` header says; nil if
    ///     unknown.
    ///
    /// Throws `ModelError` with `.usage` where a show is needed and not given, or a list is none, and with
    /// `.invalidTime` for a time before 1970 or after 9999.
    public func read(
        _ bytes: [UInt8], show: Int64? = nil, list: String? = nil, observedAt: Int64? = nil
    ) throws(ModelError) -> IngestResult {
        if needsShow, show.map({ $0 <= 0 }) ?? true {
            throw ModelError(
                .usage, "\(name) does not tell its show", hint: "give the show's id: --show ID")
        }
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
        var result = IngestResult()
        do {
            let document = try JSONParser.parse(bytes, bytesMax: IngestResource.documentBytesMax)
            reader(document, IngestContext(show: show, list: list, observedAt: observedAt), &result)
        } catch {
            result.refuse(IngestRefusal("$", error))
        }
        return result
    }
}

/// What a response does not tell about itself.
struct IngestContext: Sendable {
    /// Of which show it speaks.
    var show: Int64?
    /// Which list it is.
    var list: String?
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
