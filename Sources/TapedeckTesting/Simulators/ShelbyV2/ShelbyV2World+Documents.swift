internal import Foundation

extension ShelbyV2World.User {
    var imageURL: String { "http://img.example.org/\(nickname).jpg" }

    /// The user with the fields that clients read: id, names and image.
    var document: SimulatedJSON {
        [
            "_id": .text(id), "name": .text(nickname.capitalized), "nickname": .text(nickname),
            "user_image": .text(imageURL),
        ]
    }
}

extension ShelbyV2World.Channel {
    var document: SimulatedJSON {
        let created = SimulatedTime.isoSeconds(createdAt)
        return [
            "_id": .text(id), "created_at": .text(created), "name": .text(name),
            "public": isPublic ? 1 : 0, "updated_at": .text(created), "user_id": .text(owner),
        ]
    }
}

extension ShelbyV2World.Broadcast {
    func document(_ owner: ShelbyV2World.User?) -> SimulatedJSON {
        let image = sharer.map { "http://img.example.org/\($0).jpg" }
        let thumbnail = "http://img.example.org/\(provider)/\(providerID).jpg"
        let document: SimulatedJSON = [
            "_id": .text(id), "channel_id": .text(channel),
            "created_at": .text(SimulatedTime.isoSeconds(createdAt)),
            "description": .optional(comment), "liked_by_owner": isLiked ? 1 : 0, "name": nil,
            "total_plays": .int(totalPlays),
            "updated_at": .text(SimulatedTime.isoSeconds(updatedAt)),
            "user_id": .optional(owner?.id), "user_nickname": .optional(owner?.nickname),
            "user_thumbnail": .optional(owner?.imageURL),
            "video_description": .optional(title.map { "About \($0)." }),
            "video_id_at_provider": .text(providerID), "video_origin": .optional(origin),
            "video_originator_network_object_id": nil,
            "video_originator_user_image": .optional(image),
            "video_originator_user_name": .optional(sharer?.capitalized),
            "video_originator_user_nickname": .optional(sharer), "video_player": .text(provider),
            "video_provider_name": .text(provider), "video_thumbnail_url": .text(thumbnail),
            "video_title": .optional(title), "video_user_id": .optional(owner?.id),
            "video_user_nickname": .optional(owner?.nickname),
            "video_user_thumbnail": .optional(owner?.imageURL),
            "watched_by_owner": isWatched ? 1 : 0,
        ]
        guard let isWatchLater else { return document }
        return document.adding([
            "owner_watch_later": isWatchLater ? 1 : 0,
            "shortened_permalink": .text("http://shl.example.org/\(id.suffix(6))"),
        ])
    }
}
