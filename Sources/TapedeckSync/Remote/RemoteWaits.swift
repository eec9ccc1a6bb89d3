package import TapedeckLog
internal import TapedeckModel
package import TapedeckProjections

/// What waits at remotes, as the log has it: for lists of what they show.
package struct RemoteWaits: LiveRemotes {
    private let log: EventLog

    /// Of the remotes that a store is connected with.
    package init(_ log: EventLog) { self.log = log }

    /// The remotes.
    package var projection: any Projection { Remotes() }

    /// All of a remote waits where this device has no network or the remote does not answer, and else lanes
    /// by themselves.
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
