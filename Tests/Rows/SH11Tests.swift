import Foundation
import Tapedeck
import TapedeckModel
import TapedeckTesting
import Testing

/// SH11: Several accounts are kept with their services and channels, and no event contains a
/// secret.
@Suite struct SH11Tests {
    private static func observation(
        _ seen: Int64, _ more: (inout AccountObserved) -> Void
    ) throws -> ProposedEvent {
        var event = AccountObserved.with { ($0.account, $0.system) = ("42", "shelby") }
        more(&event)
        return try ProposedEvent(observation: event, observedAt: 1_500_000_000_000 + seen)
    }

    private func accounts(_ store: TapedeckStore) async throws -> [AccountEntry] {
        try await store.query { try VideoQueries($0).accounts().accounts }
    }

    @Test func newestServicesAndChannelsWin() async throws {
        let place = try TemporaryStore()
        let store = try place.open()
        try await store.log.append([
            Self.observation(1) {
                ($0.nickname, $0.email) = ("Ada", "ada@example.org")
                ($0.services, $0.channels) = (["twitter", "facebook"], ["a", "b"])
            }
        ])
        var account = try #require(try await accounts(store).first)
        #expect(account.services == ["twitter", "facebook"] && account.channels == ["a", "b"])
        try await store.log.append([
            Self.observation(3) { ($0.services, $0.cleared) = (["twitter"], ["channels"]) },
            // This observation arrives late: it is older than the observation that cleared the
            // channels.
            Self.observation(2) { ($0.channels, $0.image) = (["c"], "https://example.org/a.png") },
        ])
        account = try #require(try await accounts(store).first)
        #expect(account.services == ["twitter"] && account.channels == [])
        #expect(account.nickname == "Ada" && account.image == "https://example.org/a.png")
    }

    @Test func accountsOfSeveralSystemsAreIndependent() async throws {
        let place = try TemporaryStore()
        let store = try place.open()
        for (account, system) in [("42", "Shelby"), ("42", "whale"), ("43", "shelby")] {
            try await store.append([
                SignedIn.with { ($0.account, $0.system) = (account, system) }
            ])
        }
        try await store.append([SignedOut.with { ($0.account, $0.system) = ("42", "shelby") }])
        let found = try await accounts(store)
        #expect(
            found.map { "\($0.system):\($0.account)" } == ["shelby:42", "shelby:43", "whale:42"])
        #expect(found.map(\.isSignedIn) == [false, true, true])
        let first = try await store.query { try VideoQueries($0).signedInAccount(at: "shelby") }
        #expect(first?.account == "43")
    }

    // MARK: - Secrets

    /// The names of secrets in the systems' responses.
    private static let secretNames = [
        "password", "token", "session", "secret", "deviceToken", "device_token", "authToken",
        "access_token", "sendbird_id", "apiKey", "oauth",
    ]

    @Test func accountEventsHaveNoFieldsForSecrets() throws {
        let fields = try String(
            contentsOf: URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .deletingLastPathComponent().deletingLastPathComponent()
                .appendingPathComponent("schema/tapedeck/video/v1.fields.txt"), encoding: .utf8)
        let names = fields.split(separator: "\n").compactMap { line -> String? in
            let parts = line.split(separator: " ")
            let types = ["AccountObserved", "SignedIn", "SignedOut", "VisitStarted"]
            guard types.contains(where: { parts[0].hasSuffix(".\($0)") }) else { return nil }
            return String(parts[2])
        }
        #expect(
            Set(names) == [
                "account", "system", "nickname", "email", "image", "services", "channels",
                "cleared", "replaced_by", "device_only",
            ])
    }

    @Test(arguments: ["AccountObserved", "SignedIn", "SignedOut", "VisitStarted"])
    func secretsInUnknownFieldsAreNotRecorded(_ type: String) async throws {
        let secret = "hunter2-do-not-keep"
        let account = #""account":"ada@example.org","system":"birdtube""#
        for name in Self.secretNames {
            let error = #expect(throws: ModelError.self) {
                try EventCatalogue.video.proposal(
                    type: type, json: #"{\#(account),"\#(name)":"\#(secret)"}"#)
            }
            #expect(error?.code == .invalidPayload)
            #expect(error?.message.contains(secret) == false)
        }
        let place = try TemporaryStore()
        let store = try place.open()
        let proposal = try EventCatalogue.video.proposal(type: type, json: "{\(account)}")
        try await store.log.append([proposal])
        // The wire format keeps unknown fields of other events, but not of account events.
        let wire = proposal.payload + [0xFA, 0x01, UInt8(secret.utf8.count)] + Array(secret.utf8)
        func written<E: VideoEvent>(_: E.Type) throws -> [UInt8] {
            try E(payload: wire, version: 1).payload()
        }
        let again =
            switch type {
            case "AccountObserved": try written(AccountObserved.self)
            case "SignedIn": try written(SignedIn.self)
            case "VisitStarted": try written(VisitStarted.self)
            default: try written(SignedOut.self)
            }
        #expect(again == proposal.payload)
        store.close()
        let files = try FileManager.default.contentsOfDirectory(atPath: place.directory)
        for file in files {
            let bytes = FileManager.default.contents(atPath: place.path(file)) ?? Data()
            #expect(!bytes.contains(Data(secret.utf8)), "\(file)")
        }
    }

    @Test func imageURLsWithCredentialsAreRefused() throws {
        for image in ["https://ada:pw@example.org/a.png", "//token@example.org/"] {
            let error = #expect(throws: ModelError.self) {
                try AccountObserved.with {
                    ($0.account, $0.system, $0.image) = ("ada", "birdtube", image)
                }.normalized()
            }
            #expect(error?.code == .invalidPayload)
        }
        _ = try AccountObserved.with {
            ($0.account, $0.system, $0.image) = ("ada", "birdtube", "https://example.org/@ada.png")
        }.normalized()
    }
}

extension Data {
    fileprivate func contains(_ other: Data) -> Bool { range(of: other) != nil }
}
