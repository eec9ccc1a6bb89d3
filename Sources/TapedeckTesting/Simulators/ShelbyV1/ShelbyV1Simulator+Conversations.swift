extension ShelbyV1Simulator {
    /// Returns the conversations of all frames of a video.
    func conversations(_ call: Call) -> SimulatedResponse {
        guard world.videos[call.id] != nil else { return Self.notFound }
        let ids = Set(
            world.frames.values.filter { $0.video == call.id }.compactMap(\.conversation))
        return Self.result(.array(ids.sorted().map { world.conversation($0, call.now) }))
    }

    func conversation(_ call: Call) -> SimulatedResponse {
        guard world.conversations[call.id] != nil else { return Self.notFound }
        return Self.result(world.conversation(call.id, call.now))
    }

    /// Adds a message on every call, and returns the complete conversation.
    mutating func say(_ call: Call) -> SimulatedResponse {
        guard let user = call.user else { return Self.unauthorized }
        guard world.conversations[call.id] != nil else { return Self.notFound }
        let text = call.parameters["text"] ?? ""
        let id = world.makeID(at: call.now)
        let message = ShelbyV1World.Message(id: id, user: user.id, text: text)
        world.conversations[call.id]?.messages.append(message)
        core.note(.comment, call.id, by: user.id, text, detail: id, at: call.now)
        return Self.result(world.conversation(call.id, call.now))
    }

    /// Removes one of the caller's messages, and returns the complete conversation.
    mutating func unsay(_ call: Call, message id: String) -> SimulatedResponse {
        guard let user = call.user else { return Self.unauthorized }
        guard
            let index = world.conversations[call.id]?.messages.firstIndex(where: {
                $0.id == id && $0.user == user.id
            })
        else { return Self.notFound }
        world.conversations[call.id]?.messages.remove(at: index)
        core.note(.commentDeleted, call.id, by: user.id, detail: id, at: call.now)
        return Self.result(world.conversation(call.id, call.now))
    }
}
