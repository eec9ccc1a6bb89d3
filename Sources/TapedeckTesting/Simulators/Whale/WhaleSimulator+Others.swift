extension WhaleSimulator {
    mutating func pass(until now: Int64) {
        for time in core.deeds(until: now) {
            settleUploads(until: time)
            happen(at: time)
        }
        settleUploads(until: now)
    }

    /// Lets a user who has never logged in to this server ask, answer, comment on, like or remove
    /// something.
    private mutating func happen(at now: Int64) {
        let removes = core.fate.chance(core.adversary.deletionRate)
        let deed: Int = core.fate.below(10)
        let accounts = sessions.users.union([1])
        let others = world.users.map(\.id).filter { !accounts.contains($0) }
        guard !others.isEmpty else { return }
        let user = core.fate.pick(others)
        if removes { return remove(deed, of: others) }
        switch deed {
        case 0...2:
            let date = core.date(at: now, newest: world.questions.map(\.insertedAt).max())
            let receiver = core.fate.pick(core.fate.oneIn(2) ? accounts.sorted() : others)
            world.insertQuestion(
                "\(SimulatedTexts.title(&core.fate))?", sender: user, receiver: receiver, at: date)
        case 3...4:
            let open = world.questions.filter {
                others.contains($0.receiver) && !world.isAnswered($0.id)
            }
            guard !open.isEmpty else { return }
            let question = core.fate.pick(open).id
            let date = core.date(at: now, newest: world.answers.map(\.insertedAt).max())
            world.publish(question: question, at: date)
        case 5...7:
            guard !world.answers.isEmpty else { return }
            let answer = core.fate.pick(world.answers).id
            let newest = world.comments.filter { $0.answer == answer }.map(\.insertedAt).max()
            let date = core.date(at: now, newest: newest)
            world.remark(answer, by: user, at: date, &core.fate)
        default:
            guard !world.answers.isEmpty else { return }
            world.insertLike(user: user, answer: core.fate.pick(world.answers).id, at: now)
        }
    }

    private mutating func remove(_ deed: Int, of others: [Int]) {
        let comments = world.comments.indices.filter {
            others.contains(world.comments[$0].commenter)
        }
        if deed < 7, !comments.isEmpty {
            world.comments.remove(at: core.fate.pick(comments))
            return
        }
        let answers = world.answers.indices.filter { index in
            world.question(world.answers[index].question).map { others.contains($0.receiver) }
                == true
        }
        guard !answers.isEmpty else { return }
        let gone = world.answers.remove(at: core.fate.pick(answers))
        world.questions.removeAll { $0.id == gone.question }
        world.comments.removeAll { $0.answer == gone.id }
        world.likes.removeAll { $0.answer == gone.id }
    }
}
