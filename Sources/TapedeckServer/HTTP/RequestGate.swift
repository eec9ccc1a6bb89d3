internal import Synchronization
internal import TapedeckModel

/// Admits requests while limiting their number and the memory they use.
final class RequestGate: Sendable {
    private let inside = Atomic(0)
    private let held = Atomic(0)
    private let isShut = Atomic(false)
    /// The connections that are about to be closed.
    private let closing = Mutex<Set<ObjectIdentifier>>([])

    /// Stops admitting requests.
    func shut() { isShut.store(true, ordering: .relaxed) }

    /// Stops admitting requests of a connection; the caller must call `forget` once it is closed.
    func refuseMore(on connection: ObjectIdentifier) {
        closing.withLock { _ = $0.insert(connection) }
    }

    func forget(_ connection: ObjectIdentifier) {
        closing.withLock { _ = $0.remove(connection) }
    }

    /// Admits a request, or throws `.unavailable`; after success the caller must call `leave`.
    func enter(_ connection: ObjectIdentifier) throws(ServerError) {
        if isShut.load(ordering: .relaxed) {
            throw ServerError(.unavailable, "the server is shutting down", hint: "try again later")
        }
        if closing.withLock({ $0.contains(connection) }) {
            throw ServerError(
                .unavailable, "the connection is being closed",
                hint: "send the request on a new connection")
        }
        if inside.wrappingAdd(1, ordering: .relaxed).newValue > ServerLimits.requestsMax {
            leave()
            throw ServerError(
                .unavailable, "more than \(ServerLimits.requestsMax) requests are being processed",
                hint: "try again later")
        }
    }

    func leave() { inside.wrappingSubtract(1, ordering: .relaxed) }

    /// Counts the bytes of bodies in memory; the caller must call `release` even if `hold` throws.
    fileprivate func hold(_ count: Int) throws(ServerError) {
        guard
            held.wrappingAdd(count, ordering: .relaxed).newValue <= ServerLimits.heldBytesMax
        else {
            throw ServerError(
                .unavailable, "too many large requests are being processed",
                hint: "try again later")
        }
    }

    fileprivate func release(_ count: Int) { held.wrappingSubtract(count, ordering: .relaxed) }
}

/// Counts the body bytes that a request holds in memory, and releases them when this object is
/// destroyed.
final class HeldBytes: Sendable {
    private let gate: RequestGate
    private let total = Atomic(0)

    init(_ gate: RequestGate) { self.gate = gate }

    /// Throws `.unavailable` if all requests together hold too many bytes.
    func add(_ count: Int) throws(ServerError) {
        total.wrappingAdd(count, ordering: .relaxed)
        try gate.hold(count)
    }

    deinit { gate.release(total.load(ordering: .relaxed)) }
}
