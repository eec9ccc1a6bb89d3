/// The format of BirdTube's responses, which contain rows of its tables.
extension BirdTubeWorld {
    /// Returns a user with all columns of its row; the password hash, which no client reads, is a
    /// dummy.
    func document(_ user: User) -> SimulatedJSON {
        [
            "email": .text(user.email), "nickname": .text(user.nickname),
            "session": .text(user.session), "sendbird_id": .text(user.sendbirdID),
            "device_token": "", "device_type": "WEB", "password": "0f1e2d3c4b5a",
            "created_time": .int(user.createdAt / SimulatedTime.secondMilliseconds),
        ]
    }

    func document(_ video: Video) -> SimulatedJSON {
        let time = SimulatedJSON.int(video.createdAt / SimulatedTime.secondMilliseconds)
        return [
            "url": .text(video.url), "video_id": .text(video.id), "title": .text(video.title),
            "thumbnail": .text(video.thumbnail), "owner": .int(video.owner), "created_time": time,
            "updated_time": time, "channel_url": .text(video.channel),
            "viewer": .count(video.viewer),
        ]
    }

    func document(_ message: Message) -> SimulatedJSON {
        var document: SimulatedJSON = [
            "id": .int(message.id), "timestamp": .int(message.at), "type": .text(message.kind),
            "text": .text(message.text), "data": "", "tempId": .text(message.tempID),
            "isOpMessage": false, "isGuestMessage": .bool(message.isGuest),
            "isBlocked": .bool(message.isBlocked),
        ]
        if !message.sender.isEmpty {
            document = document.adding([
                "sender": [
                    "id": .text(message.sender), "name": .text(message.senderName), "image": "",
                ]
            ])
        }
        guard let file = message.file else { return document }
        return document.adding([
            "file": [
                "url": .text(file.url), "name": .text(file.name), "type": .text(file.type),
                "size": .int(file.size),
            ]
        ])
    }
}
