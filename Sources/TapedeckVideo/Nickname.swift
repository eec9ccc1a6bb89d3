/// What an account is called where nobody has said it.
package enum Nickname {
    /// What stands before the first "@" of an address, or the whole of what has none or begins with it.
    package static func standing(for account: String) -> String {
        let front = account.prefix { $0 != "@" }
        return front.isEmpty ? account : String(front)
    }
}
