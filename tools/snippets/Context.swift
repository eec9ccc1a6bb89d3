// The values and types that examples in doc comments use without declaring them; see `tools/check snippets`.
import Foundation
import Tapedeck
import TapedeckConnectors
import TapedeckTesting

func given<T>() -> T { fatalError("examples are compiled but never run") }

let directory: String = given()
let path: String = given()
let file: String = given()
let bytes: [UInt8] = given()
let id: String = given()
let now: UTCTime = given()

let store: TapedeckStore = given()
let blobs: BlobStore = given()
let clock: ManualClock = given()
let video: VideoKey = given()
let user: User = given()
let account: String = given()
let recording: String = given()
let playing: VideoKey? = given()
let list: [VideoKey] = given()
let known: [VideoKey: ExtractionPolicy.Knowledge] = given()
let tick: PlaybackProgressed = given()
let toggled: WatchLaterToggled = given()
let event: WatchLaterToggled = given()
nonisolated(unsafe) let reader: Views = given()
nonisolated(unsafe) let queries: VideoQueries<Views> = given()

func send(_ event: EventSubscription.Element) async throws {}
func show(_ path: String) {}
func get(_ url: String) async throws -> (status: Int, body: [UInt8]) { given() }
func download(_ url: String) async throws -> [UInt8] { given() }

struct User { var imageUrl: String }
struct SoldOut: Error {}

extension Event where Self: Codable {
    init(payload: [UInt8]) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(payload))
    }
    func payload() throws -> [UInt8] { Array(try JSONEncoder().encode(self)) }
}

struct PagePrinted: Event, Codable {
    static let eventType: EventType = "PagePrinted"
    var pages: UInt64
    var tags: [Tag] { [] }
}

struct SeatTaken: Event, Codable {
    static let eventType: EventType = "SeatTaken"
    var hall: String
    var tags: [Tag] { get throws { [try Tag("hall", hall)] } }
}

struct SeatsOfHall: Projection {
    struct State: ProjectionState {
        var seats: UInt64 = 0
        var taken: UInt64 = 0
        init() {}
        init(decoding bytes: inout StateReader) throws { taken = try bytes.uint64() }
        func encode(into bytes: inout StateWriter) { bytes.add(taken) }
    }
    let name = "seats"
    let version = 1
    let tagKind = "hall"
    let events: [any Event.Type] = [SeatTaken.self]
    func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        key.state.taken += 1
    }
}

struct Book: Hashable, Sendable {
    init(_ row: Row) throws {}
    init(_ value: [UInt8]) throws {}
}

struct Books: Projection {
    typealias State = SeatsOfHall.State
    let name = "books"
    let version = 1
    let tagKind = "shelf"
    let events: [any Event.Type] = []
    func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {}
}
