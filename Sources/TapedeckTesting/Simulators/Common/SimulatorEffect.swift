/// A write that took effect in a simulated system.
public struct SimulatorEffect: Codable, Hashable, Sendable, CustomStringConvertible {
    /// What was written.
    public enum Kind: String, Codable, Hashable, Sendable, CaseIterable {
        /// Shelby 2012: a flag of a broadcast; `text` is `liked_by_owner=true`.
        case flag
        /// A broadcast or frame was shared; `text` is the comment, `detail` the destinations.
        case share
        /// A comment or message was added; `detail` is its id.
        case comment
        /// A comment got another text; `detail` is its id.
        case commentEdited
        /// A comment or message was removed; `detail` is its id.
        case commentDeleted
        /// A like was counted; `detail` is the id of the row or of the copy that it made.
        case like
        /// A like was taken back; `detail` is the id of the copy that was removed.
        case unlike
        /// Shelby v1: a watched call; `detail` says what of it was counted.
        case watched
        /// Whale: somebody was asked; `text` is the question, `detail` its id.
        case question
        /// Whale: an upload has ended well; `detail` has the answer's id, the size and a checksum.
        case answerUploaded
        /// Somebody signed up; `detail` is the user name.
        case signUp
        /// A user's image changed; `text` is its address.
        case userImage
        /// Shelby v1: a frame was put on a roll; `detail` is the new frame.
        case roll
        /// Shelby v1: a frame was removed, not being somebody's like.
        case frameDeleted
        /// Shelby v1: a user joined a roll.
        case joined
        /// Shelby v1: a user left a roll.
        case left
        /// Shelby v1: a video was reported as unplayable.
        case unplayable
        /// Shelby v1: a user came by.
        case visit
        /// Shelby v1: a token for notifications came or went.
        case notificationToken
        /// BirdTube: a video was handed in; `text` is its title, `detail` its address.
        case submission
        /// BirdTube: a view was counted.
        case view
    }

    /// Its number, from 1.
    public var number: Int
    /// What was written.
    public var kind: Kind
    /// The id of what it concerns: a broadcast, frame, answer, question, conversation.
    public var entity: String
    /// The id of the user in whose name it was written; empty for nobody.
    public var account: String
    /// The user's own words, or the new value.
    public var text: String
    /// What else is worth comparing.
    public var detail: String
    /// When it took effect, in Unix milliseconds.
    public var atMilliseconds: Int64

    /// The effect in a line.
    public var description: String {
        "\(number) \(kind.rawValue) \(entity) by \(account) at \(atMilliseconds): \(text) \(detail)"
    }
}
