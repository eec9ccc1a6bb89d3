internal import SwiftProtobuf
public import TapedeckModel
public import TapedeckProjections

/// The shows and their casts, each merged from its observations.
///
/// Observations are folded in the order of their versions. A field with a value replaces the known
/// value, a null field removes it, and a missing field changes nothing. A cast is replaced as a
/// whole.
public struct ShowCatalogue: Projection {
    /// Creates the projection.
    public init() {}

    /// `shows`.
    public var name: String { "shows" }
    /// 1.
    public var version: Int { 1 }
    /// `show`.
    public var tagKind: String { "show" }
    /// Observations of shows and of casts.
    public var eventTypes: [EventType] { [ShowObserved.eventType, CastObserved.eventType] }
    /// A short explanation of how events determine the state.
    public var ruleText: String? {
        """
        A show is merged from its observations in the order of their versions: each field comes \
        from the newest observation that contains it, and a cast is replaced as a whole.
        """
    }

    /// True, because schedules show the names of shows, and this projection has no rows that could
    /// be followed instead.
    public var statesAreFollowed: Bool { true }

    /// The known facts about a show.
    public struct State: ProjectionState, Equatable {
        /// The show; `show` is 0 if only the cast has been seen.
        var show = ShowObserved()
        /// The cast; only the `cast` field is used.
        var cast = CastObserved()

        /// Creates the initial state.
        public init() {}

        /// Decodes a state.
        public init(decoding bytes: inout StateReader) throws {
            show = try ShowObserved(serializedBytes: bytes.bytes())
            cast = try CastObserved(serializedBytes: bytes.bytes())
        }

        /// Encodes the state.
        public func encode(into bytes: inout StateWriter) {
            // Serialization fails only for missing required fields, which proto3 does not have.
            bytes.add((try? show.serializedBytes()) ?? [UInt8]())
            bytes.add((try? cast.serializedBytes()) ?? [UInt8]())
        }
    }

    /// Folds an observation.
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

extension ShowObserved: MergeableObservation {
    private var hasGenres: Bool { !genres.isEmpty }

    static let observationFields: [ObservationField<ShowObserved>] = [
        ObservationField(\.show),
        ObservationField(\.hasUpdated, \.updated),
        ObservationField("name", \.hasName, \.name) { $0.clearName() },
        ObservationField("network", \.hasNetwork, \.network) { $0.clearNetwork() },
        ObservationField("webChannel", \.hasWebChannel, \.webChannel) { $0.clearWebChannel() },
        ObservationField("genres", \.hasGenres, \.genres) { $0.genres = [] },
        ObservationField("summary", \.hasSummary, \.summary) { $0.clearSummary() },
        ObservationField("image", \.hasImage, \.image) { $0.clearImage() },
        ObservationField("runtimeMinutes", \.hasRuntimeMinutes, \.runtimeMinutes) {
            $0.clearRuntimeMinutes()
        },
        ObservationField(
            "averageRuntimeMinutes", \.hasAverageRuntimeMinutes, \.averageRuntimeMinutes
        ) { $0.clearAverageRuntimeMinutes() },
        ObservationField("type", \.hasType, \.type) { $0.clearType() },
        ObservationField("language", \.hasLanguage, \.language) { $0.clearLanguage() },
        ObservationField("status", \.hasStatus, \.status) { $0.clearStatus() },
        ObservationField("premiered", \.hasPremiered, \.premiered) { $0.clearPremiered() },
        ObservationField("ended", \.hasEnded, \.ended) { $0.clearEnded() },
        ObservationField("officialSite", \.hasOfficialSite, \.officialSite) {
            $0.clearOfficialSite()
        },
        ObservationField("schedule", \.hasSchedule, \.schedule) { $0.clearSchedule() },
        ObservationField("externals", \.hasExternals, \.externals) { $0.clearExternals() },
    ]
}
