package import TapedeckModel

/// An event whose effective stamp is not its own, or which is refused.
package struct StampOverride: Hashable, Sendable {
    /// Where the event stands in the log.
    package var position: UInt64
    /// What counts instead of the event's own stamp.
    package var effectiveStamp: Stamp
    /// Whether the event counts nowhere.
    package var isRefused: Bool
    /// Rises with every change of any row, so that a reader can ask for what is new to it.
    package var change: UInt64

    package init(position: UInt64, effectiveStamp: Stamp, isRefused: Bool, change: UInt64) {
        self.position = position
        self.effectiveStamp = effectiveStamp
        self.isRefused = isRefused
        self.change = change
    }
}
