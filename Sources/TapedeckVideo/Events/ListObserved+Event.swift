public import TapedeckModel

extension ListObserved: Observation {
    /// The event type `ListObserved`.
    public static let eventType: EventType = "ListObserved"

    /// The tag of the list.
    public var tags: [Tag] { get throws { [try Tag("list", list)] } }

    /// The entity name, `list/<list>`, or `following/<list>` for an observation of whether the user
    /// follows the list.
    ///
    /// Remotes describe a list in two places with different fields. If both descriptions were
    /// observations of one entity, each would differ from the other and be recorded again at every
    /// sync.
    public var entity: String { (hasFollowed ? "following/" : "list/") + list }

    /// Always nil, because remotes do not version their lists.
    public var remoteVersion: UInt64? { nil }

    /// The unit is one millisecond, because the version of an observation is its time in
    /// milliseconds.
    public static var versionMilliseconds: Int64 { 1 }

    /// Checks the list, its title, its owner and the URL of its picture.
    public func normalized() throws(ModelError) -> ListObserved {
        guard VideoGroup(list)?.hasID == true else {
            throw FieldChecks.invalid("list", "is not dashboard/ID or roll/ID")
        }
        try FieldChecks.text(title, "title")
        if hasOwner { try FieldChecks.id(owner, "owner") }
        try FieldChecks.text(ownerName, "ownerName")
        if hasThumbnailURL { try FieldChecks.webURL(thumbnailURL, "thumbnailUrl") }
        return self
    }
}
