internal import SwiftProtobuf
public import TapedeckModel
public import TapedeckProjections

/// The shows and their casts, each the sum of its sightings.
///
/// Sightings fold in the order of their versions: a field that one has takes the place of what was
/// known, a field that it held as null takes it away, and a field that it left out changes nothing.
/// A cast is replaced as a whole.
public struct ShowCatalogue: Projection {
    /// Makes the projection.
    public init() {}

    /// `shows`.
    public var name: String { "shows" }
    /// 1.
    public var version: Int { 1 }
    /// `show`.
    public var tagKind: String { "show" }
    /// Sightings of shows and of casts.
    public var eventTypes: [EventType] { [ShowObserved.eventType, CastObserved.eventType] }

    /// What is known of a show.
    public struct State: ProjectionState, Equatable {
        /// The show, with `show` 0 while only its cast was seen.
        var show = ShowObserved()
        /// The cast; only its `cast` counts.
        var cast = CastObserved()

        /// Nothing.
        public init() {}

        /// Reads a state's bytes.
        public init(decoding bytes: inout StateReader) throws {
            show = try ShowObserved(serializedBytes: bytes.bytes())
            cast = try CastObserved(serializedBytes: bytes.bytes())
        }

        /// Writes the state's bytes.
        public func encode(into bytes: inout StateWriter) {
            // Writing fails only for required fields, which proto3 does not have.
            bytes.add((try? show.serializedBytes()) ?? [UInt8]())
            bytes.add((try? cast.serializedBytes()) ?? [UInt8]())
        }
    }

    /// Folds a sighting.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        if event.typeIndex == 0 {
            key.state.show.merge(newer: try event.decode(ShowObserved.self).normalized())
        } else {
            var cast = CastObserved()
            cast.cast = try event.decode(CastObserved.self).normalized().cast
            key.state.cast = cast
        }
    }
}

extension ShowObserved {
    /// Takes over what a newer sighting says.
    mutating func merge(newer: ShowObserved) {
        show = newer.show
        for field in newer.cleared { clear(field) }
        if newer.hasUpdated { updated = newer.updated }
        if newer.hasName { name = newer.name }
        if newer.hasNetwork { network = newer.network }
        if newer.hasWebChannel { webChannel = newer.webChannel }
        if !newer.genres.isEmpty { genres = newer.genres }
        if newer.hasSummary { summary = newer.summary }
        if newer.hasImage { image = newer.image }
        if newer.hasRuntimeMinutes { runtimeMinutes = newer.runtimeMinutes }
        if newer.hasAverageRuntimeMinutes { averageRuntimeMinutes = newer.averageRuntimeMinutes }
        if newer.hasType { type = newer.type }
        if newer.hasLanguage { language = newer.language }
        if newer.hasStatus { status = newer.status }
        if newer.hasPremiered { premiered = newer.premiered }
        if newer.hasEnded { ended = newer.ended }
        if newer.hasOfficialSite { officialSite = newer.officialSite }
        if newer.hasSchedule { schedule = newer.schedule }
        if newer.hasExternals { externals = newer.externals }
    }

    private mutating func clear(_ field: String) {
        switch field {
        case "name": clearName()
        case "network": clearNetwork()
        case "webChannel": clearWebChannel()
        case "genres": genres = []
        case "summary": clearSummary()
        case "image": clearImage()
        case "runtimeMinutes": clearRuntimeMinutes()
        case "averageRuntimeMinutes": clearAverageRuntimeMinutes()
        case "type": clearType()
        case "language": clearLanguage()
        case "status": clearStatus()
        case "premiered": clearPremiered()
        case "ended": clearEnded()
        case "officialSite": clearOfficialSite()
        case "schedule": clearSchedule()
        case "externals": clearExternals()
        default: break
        }
    }
}
