import TapedeckTesting
import Testing

extension Caller where Simulator == ShelbyV2Simulator {
    /// Returns a client that uses the account's token to call a simulator with a generated world.
    static func shelby(
        seed: UInt64 = 1, _ adversary: SimulatorAdversary = .none
    ) -> Caller<ShelbyV2Simulator> {
        var caller = Caller(
            ShelbyV2Simulator(seed: seed, at: Moments.start, adversary: adversary))
        caller.authorize(SimulatorAccount.oauthToken, SimulatorAccount.oauthSecret)
        return caller
    }

    /// Signs all further calls with a token.
    mutating func authorize(_ token: String, _ secret: String) {
        sign = { request, now in request.signed((token, secret), at: now, nonce: String(now)) }
    }

    /// Returns the channel that apps use, which is the first channel that is not public.
    func channel() -> String { simulator.world.channels.first { !$0.isPublic }?.id ?? "" }

    mutating func broadcasts() throws -> [[String: Any]] {
        try call("GET", "/v2/channels/\(channel())/broadcasts.json?video_player=youtube,vimeo").list
    }
}
