import Tapedeck

/// The user's accounts.
extension MixedActivityGenerator {
    /// The state of the user's accounts.
    struct Accounts {
        /// The name used for all accounts.
        static let address = "ada@example.org"
        static let systems = ["birdtube", "shelby", "whale"]

        var isSignedIn = [false, false, false]
    }

    /// Signs the user in and records the account, or occasionally signs the user out.
    mutating func useAccounts(_ activity: Activity) throws {
        let index = random.below(Accounts.systems.count)
        let system = Accounts.systems[index]
        if accounts.isSignedIn[index] {
            guard random.oneIn(4) else { return try use(system, activity) }
            let out = SignedOut.with { ($0.account, $0.system) = (Accounts.address, system) }
            try add(out, beside: activity)
        } else {
            let signedIn = SignedIn.with {
                ($0.account, $0.system) = (Accounts.address, system)
            }
            try add(signedIn, beside: activity)
            try use(system, activity)
        }
        accounts.isSignedIn[index].toggle()
    }

    /// Records a visit, if the system counts visits, and the account.
    private mutating func use(_ system: String, _ activity: Activity) throws {
        if system == Shelby.system {
            let visit = VisitStarted.with {
                ($0.account, $0.system) = (Accounts.address, system)
            }
            try add(visit, beside: activity)
        }
        try see(system, activity)
    }

    /// Records the account and, for Shelby, an address that the user has sent a video to, and a roll
    /// that the user follows.
    private mutating func see(_ system: String, _ activity: Activity) throws {
        let account = AccountObserved.with {
            ($0.account, $0.system) = (Accounts.address, system)
            ($0.nickname, $0.email) = ("ada", Accounts.address)
            $0.services = ["facebook", "twitter"]
            $0.channels = (0..<1 + random.below(3)).map { "d\($0 + 1)" }
        }
        try observe(account, beside: activity)
        guard system == "shelby" else { return }
        let contact = ContactObserved.with {
            ($0.address, $0.system) = ("\(activity.person)@example.org", system)
        }
        try observe(contact, beside: activity)
        let list = ListObserved.with {
            ($0.list, $0.title) = ("roll/\(activity.person)", "Roll of \(activity.person)")
            ($0.owner, $0.followed) = (activity.person, true)
        }
        try observe(list, beside: activity)
    }
}
