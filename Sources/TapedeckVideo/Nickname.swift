/// The default nickname of an account.
package enum Nickname {
    /// Returns the part of an account's name before the first "@", or the entire name if that part
    /// is empty.
    package static func standing(for account: String) -> String {
        let front = account.prefix { $0 != "@" }
        return front.isEmpty ? account : String(front)
    }
}
