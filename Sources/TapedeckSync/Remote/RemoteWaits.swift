package import TapedeckLog
internal import TapedeckModel
package import TapedeckProjections

/// Reads the current waits for remotes from the log, for lists that show data from these remotes.
package struct RemoteWaits: LiveRemotes {
    private let log: EventLog

    /// Creates a reader of the waits for a store's remotes.
    package init(_ log: EventLog) { self.log = log }

    /// The projection of the remotes.
    package var projection: any Projection { Remotes() }

    /// Returns the waits for the remotes of the given systems.
    ///
    /// If the device is offline or the entire remote is waiting, the result contains one wait for
    /// the remote. Otherwise, the result contains one wait for each waiting lane.
    package func waits(at systems: [String], _ views: Views) throws -> [RemoteWait] {
        let network = try NetworkState.current(in: log)
        return try Remotes.all(views).filter { systems.contains($0.system) }.flatMap { remote in
            if let wait = try network.wait() ?? RemoteRow.named(remote.name, in: log).wait {
                return [RemoteWait(remote.name, nil, wait)]
            }
            let lanes = try RemoteRow.lanes(remote.name, in: log)
            return lanes.filter { network.upholds($0.wait) }.map {
                RemoteWait(remote.name, Tag(unchecked: $0.name), $0.wait)
            }
        }
    }
}

extension RemoteWait {
    fileprivate init(_ remote: String, _ key: Tag?, _ wait: SyncWait) {
        self.init(
            remote: remote, key: key, reason: wait.reason, message: wait.message,
            until: wait.until)
    }
}
