/// A write that took effect in a simulated system.
public struct SimulatorEffect: Codable, Hashable, Sendable, CustomStringConvertible {
    /// The kinds of writes.
    public enum Kind: String, Codable, Hashable, Sendable, CaseIterable {
        /// Shelby 2012: a flag of a broadcast was set; `text` is, for example,
        /// `liked_by_owner=true`.
        case flag
        /// A broadcast or frame was shared; `text` is the comment and `detail` lists the
        /// destinations.
        case share
        /// A comment or message was added; `detail` is its id.
        case comment
        /// The text of a comment was changed; `detail` is its id.
        case commentEdited
        /// A comment or message was removed; `detail` is its id.
        case commentDeleted
        /// A like was counted; `detail` is the id of the row or copy that the like created.
        case like
        /// A like was removed; `detail` is the id of the removed copy.
        case unlike
        /// Shelby v1: a `watched` call was processed; `detail` lists what was counted: `view`,
        /// `complete`, both or neither.
        case watched
        /// Whale: a user was asked a question; `text` is the question and `detail` is its id.
        case question
        /// Whale: an upload succeeded; `detail` has the answer's id, the size and a checksum.
        case answerUploaded
        /// A user signed up; `detail` is the user name.
        case signUp
        /// A user's image changed; `text` is its URL.
        case userImage
        /// Shelby v1: a frame was added to a roll; `detail` is the id of the new frame.
        case roll
        /// Shelby v1: a frame was removed; if a like created the frame, `unlike` is noted instead.
        case frameDeleted
        /// Shelby v1: a user joined a roll.
        case joined
        /// Shelby v1: a user left a roll.
        case left
        /// Shelby v1: a video was reported as unplayable.
        case unplayable
        /// Shelby v1: a service was linked to an account; `text` is its name.
        case serviceLinked
        /// Shelby v1: a user's visit was counted; `text` is the platform.
        case visit
        /// Shelby v1: a notification token was added or removed.
        case notificationToken
        /// BirdTube: a video was submitted; `text` is its title and `detail` is its URL.
        case submission
        /// BirdTube: a view was counted.
        case view
    }

    /// The number of the write, counting the writes that took effect from 1.
    public var number: Int
    /// The kind of write.
    public var kind: Kind
    /// The id of the affected broadcast, frame, answer, question or conversation.
    public var entity: String
    /// The id of the user who made the write; empty if there is none.
    public var account: String
    /// The text that the user wrote, or the new value.
    public var text: String
    /// Further details for comparison.
    public var detail: String
    /// The time at which the write took effect, in milliseconds since 1970.
    public var atMilliseconds: Int64

    /// The write as one line of text.
    public var description: String {
        "\(number) \(kind.rawValue) \(entity) by \(account) at \(atMilliseconds): \(text) \(detail)"
    }
}
