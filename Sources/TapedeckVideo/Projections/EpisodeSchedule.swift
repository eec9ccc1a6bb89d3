internal import SwiftProtobuf
public import TapedeckModel
public import TapedeckProjections

/// The episodes, by the time at which they begin and by their shows.
///
/// Sightings merge as in `ShowCatalogue`. Times are moments, without zones: on which day an episode
/// is depends on its channel, which a query looks up. Table 0 holds the episodes whose beginning is
/// known, by (beginning, id); table 1 all of them, by (show, season, number, id).
public struct EpisodeSchedule: Projection {
    /// Makes the projection.
    public init() {}

    /// `schedule`.
    public var name: String { "schedule" }
    /// 1.
    public var version: Int { 1 }
    /// `episode`.
    public var tagKind: String { "episode" }
    /// Sightings of episodes.
    public var eventTypes: [EventType] { [EpisodeScheduled.eventType] }
    /// The rule in a sentence.
    public var ruleText: String? {
        """
        An episode is the sum of its sightings in the order of their versions: each \
        field is as the newest one that tells of it has it.
        """
    }
    /// Two: by beginning, and by show.
    public var tables: [String] { ["by-start", "by-show"] }

    static let byStart = 0
    static let byShow = 1

    /// What is known of an episode.
    public struct State: ProjectionState, Equatable {
        var episode = EpisodeScheduled()

        /// Nothing.
        public init() {}

        /// Reads a state's bytes.
        public init(decoding bytes: inout StateReader) throws {
            episode = try EpisodeScheduled(serializedBytes: bytes.bytes())
        }

        /// Writes the state's bytes.
        public func encode(into bytes: inout StateWriter) { bytes.add(episode.plainBytes) }
    }

    /// Folds a sighting.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        key.state.episode.merge(newer: try event.decode(EpisodeScheduled.self).normalized())
    }

    /// A row by beginning, where that is known, and one by show.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        let episode = state.episode
        if episode.hasAirstamp {
            rows.add(
                table: EpisodeSchedule.byStart,
                key: RowKey().ascending(episode.airstamp.milliseconds).ascending(episode.episode),
                value: episode.plainBytes)
        }
        var value = StateWriter()
        EpisodeEntry(episode).encode(into: &value)
        rows.add(
            table: EpisodeSchedule.byShow,
            key: RowKey().ascending(episode.show)
                .ascending(episode.hasSeason ? Int64(episode.season) : .max)
                .ascending(episode.hasNumber ? Int64(episode.number) : .max)
                .ascending(episode.episode),
            value: value.bytes)
    }
}

extension EpisodeScheduled: Sighting {
    static let sightingFields: [SightingField<EpisodeScheduled>] = [
        SightingField(\.episode),
        SightingField(\.show),
        SightingField(\.hasShowUpdated, \.showUpdated),
        SightingField("name", \.hasName, \.name) { $0.clearName() },
        SightingField("season", \.hasSeason, \.season) { $0.clearSeason() },
        SightingField("number", \.hasNumber, \.number) { $0.clearNumber() },
        SightingField("type", \.hasType, \.type) { $0.clearType() },
        SightingField("airdate", \.hasAirdate, \.airdate) { $0.clearAirdate() },
        SightingField("airtime", \.hasAirtime, \.airtime) { $0.clearAirtime() },
        SightingField("airstamp", \.hasAirstamp, \.airstamp) { $0.clearAirstamp() },
        SightingField("runtimeMinutes", \.hasRuntimeMinutes, \.runtimeMinutes) {
            $0.clearRuntimeMinutes()
        },
        SightingField("image", \.hasImage, \.image) { $0.clearImage() },
        SightingField("summary", \.hasSummary, \.summary) { $0.clearSummary() },
    ]

    // Writing fails only for required fields, which proto3 does not have.
    fileprivate var plainBytes: [UInt8] { (try? serializedBytes()) ?? [] }
}

/// What a show's list of episodes tells of one.
struct EpisodeEntry {
    var season: Int64?
    var number: Int64?
    var name: String?
    /// Unix milliseconds.
    var startsAt: Int64?

    init(_ episode: EpisodeScheduled) {
        season = episode.hasSeason ? Int64(episode.season) : nil
        number = episode.hasNumber ? Int64(episode.number) : nil
        name = episode.hasName ? episode.name : nil
        startsAt = episode.hasAirstamp ? episode.airstamp.milliseconds : nil
    }

    init(decoding bytes: [UInt8]) throws(ModelError) {
        (season, number, name, startsAt) = try StateReader.read(bytes) {
            (reader) throws(ModelError) in
            (
                try reader.optionalInt64(), try reader.optionalInt64(),
                try reader.optionalString(), try reader.optionalInt64()
            )
        }
    }

    func encode(into bytes: inout StateWriter) {
        bytes.add(season)
        bytes.add(number)
        bytes.add(name)
        bytes.add(startsAt)
    }
}
