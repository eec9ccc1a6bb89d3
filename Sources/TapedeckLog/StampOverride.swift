package import TapedeckModel

/// An override of an event's stamp or status.
package struct StampOverride: Hashable, Sendable {
    /// The event's position in the log.
    package var position: UInt64
    /// The stamp that replaces the event's own stamp.
    package var effectiveStamp: Stamp
    /// Whether the event is refused, so that projections ignore it.
    package var isRefused: Bool
    /// The number of the last change to this row; changes to all rows are numbered consecutively,
    /// so that readers can ask for new changes.
    package var change: UInt64

    package init(position: UInt64, effectiveStamp: Stamp, isRefused: Bool, change: UInt64) {
        self.position = position
        self.effectiveStamp = effectiveStamp
        self.isRefused = isRefused
        self.change = change
    }
}
