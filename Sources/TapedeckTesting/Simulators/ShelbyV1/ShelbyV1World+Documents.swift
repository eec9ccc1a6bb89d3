internal import Foundation

/// The format of v1 responses; joined objects may be null.
extension ShelbyV1World {
    /// Returns `just now`, `5m ago`, `3h ago` (up to 12 hours), or `Sep 5` without a year.
    static func ago(_ id: String, _ now: Int64) -> String {
        let seconds = Int64(id.prefix(8), radix: 16) ?? 0
        let age = max(0, now / 1_000 - seconds)
        switch age {
        case 0..<60: return "just now"
        case 60..<3_600: return "\(age / 60)m ago"
        case 3_600...43_200: return "\(age / 3_600)h ago"
        default:
            let (_, month, day) = SimulatedTime.civil(seconds * 1_000)
            let names = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(separator: " ")
            return "\(names[Int(month) - 1]) \(day)"
        }
    }

    func user(_ id: String?) -> SimulatedJSON {
        guard let id, let user = users[id] else { return .null }
        return common(user).adding([
            "public_roll_id": .text(user.publicRoll), "gt_enabled": true,
        ])
    }

    /// Returns a user in the form of the user's own profile.
    ///
    /// Unlike other documents, the profile names the user's roll `personal_roll_id`.
    func profile(_ id: String, token: String) -> SimulatedJSON {
        guard let user = users[id] else { return .null }
        return common(user).adding([
            "personal_roll_id": .text(user.publicRoll), "primary_email": .text(user.email),
            "authentication_token": .text(token), "session_count": .count(user.visits["web"] ?? 0),
            "autocomplete": ["email": .array(user.addresses.map { .text($0) })],
        ])
    }

    /// Returns the fields that all documents of a user have in common.
    private func common(_ user: User) -> SimulatedJSON {
        let services: [SimulatedJSON] = user.services.sorted { $0.key > $1.key }.map { service in
            [
                "uid": .text(service.value), "provider": .text(service.key),
                "nickname": .text(user.nickname),
            ]
        }
        return [
            "has_shelby_avatar": false, "id": .text(user.id),
            "name": .text(user.nickname.capitalized), "nickname": .text(user.nickname),
            "user_image_original": nil,
            "user_image": .text("http://img.example.org/\(user.nickname).jpg"), "user_type": 0,
            "authentications": .array(services),
        ]
    }

    func roll(_ id: String?) -> SimulatedJSON {
        guard let id, let roll = rolls[id] else { return .null }
        return [
            "id": .text(id), "collaborative": .bool(roll.isCollaborative),
            "public": .bool(roll.isPublic), "creator_id": .text(roll.creator),
            "origin_network": nil, "genius": false,
            "frame_count": .count(frames.values.count { $0.roll == id }),
            "first_frame_thumbnail_url": nil, "title": .text(roll.title),
            "roll_type": .count(roll.type), "thumbnail_url": nil,
        ]
    }

    func video(_ id: String?) -> SimulatedJSON {
        guard let id, let video = videos[id] else { return .null }
        let likers = Set(frames.values.filter { $0.video == id }.flatMap(\.upvoters))
        return [
            "id": .text(id), "provider_name": .text(video.provider),
            "provider_id": .text(video.providerID), "title": .text(video.title),
            "description": .text("About \(video.title)."),
            "duration": .text(String(video.durationSeconds)), "author": nil,
            "thumbnail_url": .text("http://img.example.org/\(video.providerID).jpg"),
            "source_url": nil, "embed_url": nil, "view_count": .count(video.viewCount),
            "like_count": .count(likers.count), "tracked_liker_count": .count(likers.count),
            "tags": [], "categories": [],
            "first_unplayable_at": .optional(video.firstUnplayableAt),
            "last_unplayable_at": .optional(video.lastUnplayableAt), "recs": [],
        ]
    }

    func conversation(_ id: String?, _ now: Int64) -> SimulatedJSON {
        guard let id, let conversation = conversations[id] else { return .null }
        return [
            "id": .text(id), "public": true,
            "messages": .array(conversation.messages.map { message($0, now) }),
        ]
    }

    private func message(_ message: Message, _ now: Int64) -> SimulatedJSON {
        let nickname = users[message.user]?.nickname
        return [
            "id": .text(message.id), "nickname": .optional(nickname),
            "realname": .optional(nickname?.capitalized),
            "user_image_url": .optional(nickname.map { "http://img.example.org/\($0).jpg" }),
            "text": .text(message.text), "origin_network": "shelby", "origin_id": nil,
            "origin_user_id": nil, "user_id": .text(message.user),
            "user_has_shelby_avatar": false, "public": true,
            "created_at": .text(Self.ago(message.id, now)),
        ]
    }

    /// Returns a frame, including the objects that it refers to if `hasChildren` is set.
    func frame(_ id: String?, _ now: Int64, hasChildren: Bool = true) -> SimulatedJSON {
        guard let id, let frame = frames[id] else { return .null }
        let document: SimulatedJSON = [
            "id": .text(id), "score": .double(Self.score(frame)),
            "view_count": .count(frame.viewCount), "creator_id": .optional(frame.creator),
            "conversation_id": .optional(frame.conversation), "roll_id": .optional(frame.roll),
            "video_id": .optional(frame.video),
            "upvoters": .array(frame.upvoters.map { .text($0) }),
            "like_count": .count(frame.likeCount), "frame_type": .count(frame.type),
            "original_source_url": nil, "originator_id": nil, "originator": nil,
            "created_at": .text(Self.ago(id, now)),
        ]
        guard hasChildren else { return document }
        return document.adding([
            "creator": user(frame.creator), "roll": roll(frame.roll), "video": video(frame.video),
            "conversation": conversation(frame.conversation, now),
        ])
    }

    /// Returns the score: seconds since 2012-02-22 divided by 45000, plus a bonus for likes.
    private static func score(_ frame: Frame) -> Double {
        let seconds = Double((Int64(frame.id.prefix(8), radix: 16) ?? 0) - 1_329_868_800)
        let likes = frame.likeCount > 0 ? log10(Double(frame.likeCount)) : -1
        return ((seconds / 45_000 + max(likes, -1) + 1) * 1_000).rounded() / 1_000
    }

    func entry(_ entry: Entry, _ now: Int64, hasChildren: Bool = true) -> SimulatedJSON {
        var document: SimulatedJSON = [
            "id": .text(entry.id), "user_id": .text(entry.user), "action": .count(entry.action),
            "actor_id": .optional(entry.actor), "read": false,
            "frame": frame(entry.frame, now, hasChildren: hasChildren), "actor": user(entry.actor),
        ]
        if let source = entry.sourceFrame.flatMap({ frames[$0] }) {
            document = document.adding([
                "src_frame": [
                    "id": .text(source.id), "creator_id": .optional(source.creator),
                    "creator": short(source.creator),
                ],
                "src_video": source.video.flatMap { videos[$0] }.map {
                    ["id": .text($0.id), "title": .text($0.title)]
                } ?? .null,
            ])
        }
        if entry.action == 32 {
            let friends = frames[entry.frame ?? ""]?.upvoters ?? []
            document = document.adding(["friend_likers": .array(friends.map { .text($0) })])
        }
        return document
    }

    private func short(_ id: String?) -> SimulatedJSON {
        guard let id, let user = users[id] else { return .null }
        return ["id": .text(id), "nickname": .text(user.nickname)]
    }
}
