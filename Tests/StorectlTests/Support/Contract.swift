import Foundation
import Testing

/// The commands and shapes that `schema/cli.md` describes.
struct Contract {
    /// A command that the page describes.
    struct Command {
        /// The name of the command without `storectl`, such as `query videos`.
        let name: String
        let synopsis: [String]
        let shape: Shape?
    }

    let commands: [Command]
    let failure: Shape
    /// The shape of the report that `explain` prints for a key.
    let explainedKey: Shape
    /// The shape of the state that `watch` prints with the entries of a list.
    let liveState: Shape

    static func read() throws -> Contract {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let page = try String(
            contentsOf: root.appendingPathComponent("schema/cli.md"), encoding: .utf8)
        return try Contract(page)
    }

    init(_ page: String) throws {
        var commands: [Command] = []
        var failure: Shape?
        var explainedKey: Shape?
        var liveState: Shape?
        for section in page.components(separatedBy: "\n## ") {
            if let text = Contract.blocks(section, "shape failure").first {
                failure = try Shape(parsing: text)
            }
            if let text = Contract.blocks(section, "shape key").first {
                explainedKey = try Shape(parsing: text)
            }
            if let text = Contract.blocks(section, "shape state").first {
                liveState = try Shape(parsing: text)
            }
            guard section.hasPrefix("storectl ") else { continue }
            let name = section.prefix { $0 != "\n" }.dropFirst("storectl ".count)
            let synopsis = Contract.blocks(section, "").flatMap {
                $0.split(separator: "\n").map(String.init)
            }
            let shape = try Contract.blocks(section, "shape").first.map { try Shape(parsing: $0) }
            if name.hasSuffix(" ACTION") {
                commands += synopsis.map {
                    Command(name: Contract.command(of: $0), synopsis: [$0], shape: shape)
                }
            } else {
                commands.append(Command(name: String(name), synopsis: synopsis, shape: shape))
            }
        }
        self.commands = commands
        self.failure = try #require(failure)
        self.explainedKey = try #require(explainedKey)
        self.liveState = try #require(liveState)
    }

    /// Returns the command in a line of a synopsis: the words before its arguments.
    private static func command(of line: String) -> String {
        line.split(separator: " ").dropFirst().prefix { word in
            word.first?.isLowercase == true && word.allSatisfy { $0.isLowercase || $0 == "-" }
        }.joined(separator: " ")
    }

    private static func blocks(_ section: String, _ kind: String) -> [String] {
        var found: [String] = []
        var block: [String]?
        var isWanted = false
        for line in section.components(separatedBy: "\n") {
            if line.hasPrefix("```") {
                if let lines = block {
                    if isWanted { found.append(lines.joined(separator: "\n")) }
                    block = nil
                } else {
                    block = []
                    isWanted = line.dropFirst(3) == kind
                }
            } else {
                block?.append(line)
            }
        }
        return found
    }

    subscript(_ name: String) -> Command? { commands.first { $0.name == name } }
}

/// The shape of a document: the names of its fields in order, and which fields are optional.
indirect enum Shape {
    struct Field {
        let name: String
        let isOptional: Bool
        let shape: Shape?
    }

    struct Malformed: Error {}

    case object([Field])
    case list(Shape)

    init(parsing text: String) throws {
        var rest = Substring(text.filter { !$0.isWhitespace })
        self = try Shape(&rest)
        guard rest.isEmpty else { throw Malformed() }
    }

    private init(_ rest: inout Substring) throws {
        if rest.first == "[" {
            rest.removeFirst()
            self = .list(try Shape(&rest))
            guard rest.popFirst() == "]" else { throw Malformed() }
            return
        }
        guard rest.popFirst() == "{" else { throw Malformed() }
        var fields: [Field] = []
        repeat {
            guard rest.popFirst() == "\"", let end = rest.firstIndex(of: "\"") else {
                throw Malformed()
            }
            let name = String(rest[..<end])
            rest = rest[rest.index(after: end)...]
            let isOptional = rest.first == "?"
            if isOptional { rest.removeFirst() }
            var shape: Shape?
            if rest.first == ":" {
                rest.removeFirst()
                shape = try Shape(&rest)
            }
            fields.append(Field(name: name, isOptional: isOptional, shape: shape))
        } while rest.first == "," && rest.popFirst() != nil
        guard rest.popFirst() == "}" else { throw Malformed() }
        self = .object(fields)
    }

    /// Returns the missing, additional and reordered fields of a document; empty if it has this
    /// shape.
    func differences(from document: OrderedJSON, at path: String = "$") -> [String] {
        switch (self, document) {
        // A null has no fields to compare.
        case (_, .null): return []
        case (.list(let shape), .list(let values)):
            return values.enumerated().flatMap {
                shape.differences(from: $1, at: "\(path)[\($0)]")
            }
        case (.object(let fields), .object(let members)):
            let expected = fields.map(\.name)
            var found = members.map(\.name).filter { !expected.contains($0) }.map {
                "\(path).\($0) is not in the contract"
            }
            found += fields.filter { !$0.isOptional && document[$0.name] == nil }.map {
                "\(path).\($0.name) is missing"
            }
            let order = members.map(\.name).filter { expected.contains($0) }
            if order != expected.filter({ order.contains($0) }) {
                found.append("\(path) has its fields in another order: \(order)")
            }
            for field in fields {
                guard let shape = field.shape, let value = document[field.name] else { continue }
                found += shape.differences(from: value, at: "\(path).\(field.name)")
            }
            return found
        default: return ["\(path) has another type"]
        }
    }

    /// Returns the lists that are empty in a document and whose entries were therefore not
    /// compared.
    func emptyLists(in document: OrderedJSON, at path: String = "$") -> [String] {
        switch (self, document) {
        case (.list(let shape), .list(let values)):
            guard let first = values.first(where: { $0 != .list([]) }) else { return [path] }
            let best = values.map { shape.emptyLists(in: $0, at: "\(path)[]") }
            return best.min { $0.count < $1.count } ?? shape.emptyLists(in: first, at: path)
        case (.object(let fields), .object):
            return fields.flatMap { field -> [String] in
                guard let shape = field.shape, let value = document[field.name] else { return [] }
                return shape.emptyLists(in: value, at: "\(path).\(field.name)")
            }
        default: return []
        }
    }
}
