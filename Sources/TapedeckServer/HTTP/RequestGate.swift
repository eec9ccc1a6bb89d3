internal import Synchronization
internal import TapedeckModel

/// Who may come in: bounds how much is done and held at a time.
final class RequestGate: Sendable {
    private let inside = Atomic(0)
    private let held = Atomic(0)
    private let isShut = Atomic(false)

    /// Lets no more in.
    func shut() { isShut.store(true, ordering: .relaxed) }

    /// Throws `.unavailable`; `leave` has to follow where it does not.
    func enter() throws(ServerError) {
        if isShut.load(ordering: .relaxed) {
            throw ServerError(.unavailable, "the server is going away", hint: "try again later")
        }
        if inside.wrappingAdd(1, ordering: .relaxed).newValue > ServerLimits.requestsMax {
            leave()
            throw ServerError(
                .unavailable, "more than \(ServerLimits.requestsMax) requests are being answered",
                hint: "try again a little later")
        }
    }

    func leave() { inside.wrappingSubtract(1, ordering: .relaxed) }

    /// Counts bytes of bodies that are held; `release` has to follow, whatever this says.
    fileprivate func hold(_ count: Int) throws(ServerError) {
        guard
            held.wrappingAdd(count, ordering: .relaxed).newValue <= ServerLimits.heldBytesMax
        else {
            throw ServerError(
                .unavailable, "too many large requests are being answered",
                hint: "try again a little later")
        }
    }

    fileprivate func release(_ count: Int) { held.wrappingSubtract(count, ordering: .relaxed) }
}

/// Bytes of bodies that a request holds, until this object goes.
final class HeldBytes: Sendable {
    private let gate: RequestGate
    private let total = Atomic(0)

    init(_ gate: RequestGate) { self.gate = gate }

    /// Throws `.unavailable` where all requests together hold too many.
    func add(_ count: Int) throws(ServerError) {
        total.wrappingAdd(count, ordering: .relaxed)
        try gate.hold(count)
    }

    deinit { gate.release(total.load(ordering: .relaxed)) }
}
