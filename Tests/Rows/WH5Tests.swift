import Tapedeck
import TapedeckModel
import TapedeckTesting
import Testing

/// WH5: A profile with counts; any field can be edited offline, and the last write to each field wins.
@Suite struct WH5Tests {
    private let stage: WhaleStage

    init() throws { stage = try WhaleStage("wh5") }

    private func profile() async throws -> UserEntry {
        try #require(try await stage.ask { try $0.user("1") })
    }

    @discardableResult
    private func edit(_ write: (inout ProfileEdited) -> Void) async throws -> EventID? {
        let command = EditProfile(write)
        return try await stage.decide { try command.decide($0) }
    }

    @Test func profilesCombineRemoteFieldsAndLocalEdits() async throws {
        let nobody = await #expect(throws: StoreError.self) {
            try await edit { $0.about = "hello" }
        }
        #expect(nobody?.code == .signInRequired)
        try await stage.signIn()
        try await stage.see(
            UserObserved.with {
                ($0.user, $0.username, $0.firstName) = ("1", "ada", "Ada")
                $0.imageURL = "https://img.example.org/1.png"
            })
        var found = try await profile()
        #expect(found.username == "ada" && found.imageUrl == "https://img.example.org/1.png")
        #expect(found.followerCount == 3 && found.followingCount == nil && found.isOwn)
        #expect(found.about == nil && found.edited.isEmpty)

        try await edit {
            ($0.about, $0.username, $0.lastName) = ("I answer on Sundays.", "countess", "Lovelace")
            ($0.imageURL, $0.email) = ("https://img.example.org/2.png", "ada@example.org")
            $0.cleared = ["firstName"]
        }
        found = try await profile()
        #expect(found.about == "I answer on Sundays." && found.username == "countess")
        #expect(found.lastName == "Lovelace" && found.email == "ada@example.org")
        #expect(found.imageUrl == "https://img.example.org/2.png" && found.firstName == nil)
        #expect(
            found.edited == ["username", "firstName", "lastName", "imageUrl", "email", "about"])
        // An edit that changes nothing is not recorded.
        #expect(try await edit { $0.username = "countess" } == nil)
        #expect(try await stage.ask { try $0.users(named: "countess").users.map(\.id) } == ["1"])
        await #expect(throws: StoreError.self) { try await edit { $0.username = " " } }
        await #expect(throws: StoreError.self) { try await edit { $0.cleared = ["username"] } }
    }

    @Test func editsSurviveRefreshesUntilTheRemoteChanges() async throws {
        try await stage.signIn()
        func see(_ username: String) async throws {
            try await stage.see(
                UserObserved.with {
                    ($0.user, $0.username) = ("1", username)
                    $0.imageURL = "https://img.example.org/1.png"
                })
        }
        try await see("ada")
        try await edit { ($0.username, $0.about) = ("countess", "hello") }
        // The remote does not have the edit yet and shows the old name.
        try await see("ada")
        #expect(try await profile().username == "countess")
        // The remote has applied the edit.
        try await see("countess")
        #expect(try await profile().edited == ["about"])
        // The name changes on the remote, and is then edited again on this device.
        try await see("adal")
        #expect(try await profile().username == "adal")
        try await edit { $0.username = "ada l" }
        try await see("adal")
        let found = try await profile()
        #expect(found.username == "ada l" && found.about == "hello")
        #expect(found.edited == ["username", "about"])
    }

    private func exchange(_ stores: [TapedeckStore], _ files: String...) throws {
        for (from, file) in files.enumerated() {
            try stores[from].log.export(to: file)
            try stores[1 - from].log.importEvents(from: file)
        }
    }

    @Test func offlineEditsOfTwoDevicesMergeByField() async throws {
        let clock = ManualClock()
        let (one, two) = (try TemporaryStore(clock: clock), try TemporaryStore(clock: clock))
        let stores = [try one.open(), try two.open()]
        func edit(_ device: Int, _ write: (inout ProfileEdited) -> Void) async throws {
            clock.advance(by: .seconds(1))
            var event = ProfileEdited()
            event.user = "1"
            write(&event)
            try await stores[device].append([event])
        }
        try await edit(0) { ($0.username, $0.about) = ("first", "of one") }
        try await edit(1) { ($0.username, $0.email) = ("second", "of@two.example.org") }
        try await edit(0) { $0.email = "of@one.example.org" }
        let files = try TemporaryStore("files")
        try exchange(stores, files.path("one"), files.path("two"))
        for store in stores {
            let found = try #require(try await store.query { try VideoQueries($0).user("1") })
            #expect(found.username == "second" && found.about == "of one")
            #expect(found.email == "of@one.example.org")
        }
    }
}
