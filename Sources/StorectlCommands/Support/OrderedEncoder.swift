/// Encodes values as `JSON`, with members in the order in which the values encode them.
enum OrderedEncoder {
    static func json(_ value: some Encodable) throws -> JSON {
        let node = Node()
        try value.encode(to: NodeEncoder(node: node, codingPath: []))
        return node.json
    }
}

extension JSON {
    /// Creates the JSON document of an encodable value.
    init(encoding value: some Encodable) throws { self = try OrderedEncoder.json(value) }
}

/// A value that is being encoded.
private final class Node {
    enum Content {
        case value(JSON)
        case object([(name: String, node: Node)])
        case list([Node])
    }

    var content = Content.value(.null)

    var json: JSON {
        switch content {
        case .value(let value): value
        case .object(let members): .object(members.map { ($0.name, $0.node.json) })
        case .list(let nodes): .list(nodes.map(\.json))
        }
    }

    func member(_ name: String) -> Node {
        let node = Node()
        if case .object(let members) = content {
            content = .object(members + [(name, node)])
        } else {
            content = .object([(name, node)])
        }
        return node
    }

    func element() -> Node {
        let node = Node()
        if case .list(var nodes) = content {
            content = .value(.null)
            nodes.append(node)
            content = .list(nodes)
        } else {
            content = .list([node])
        }
        return node
    }

    func set(_ value: some Encodable, _ path: [any CodingKey]) throws {
        switch value {
        case let value as String: content = .value(.text(value))
        case let value as Bool: content = .value(.bool(value))
        case let value as Double: content = .value(.number(value))
        case let value as Float: content = .value(.number(Double(value)))
        case let value as UInt64: content = .value(.unsigned(value))
        case let value as UInt: content = .value(.unsigned(UInt64(value)))
        case let value as any BinaryInteger: content = .value(.integer(Int64(value)))
        default: try value.encode(to: NodeEncoder(node: self, codingPath: path))
        }
    }
}

private struct NodeEncoder: Encoder {
    let node: Node
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        if case .object = node.content {} else { node.content = .object([]) }
        return KeyedEncodingContainer(KeyedNodes(node: node, codingPath: codingPath))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        node.content = .list([])
        return NodeList(node: node, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        SingleNode(node: node, codingPath: codingPath)
    }
}

private struct KeyedNodes<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let node: Node
    let codingPath: [any CodingKey]

    func encodeNil(forKey key: Key) { _ = node.member(key.stringValue) }

    func encode(_ value: some Encodable, forKey key: Key) throws {
        try node.member(key.stringValue).set(value, codingPath + [key])
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        NodeEncoder(node: node.member(key.stringValue), codingPath: codingPath + [key])
            .container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        NodeEncoder(node: node.member(key.stringValue), codingPath: codingPath + [key])
            .unkeyedContainer()
    }

    func superEncoder() -> any Encoder {
        NodeEncoder(node: node.member("super"), codingPath: codingPath)
    }

    func superEncoder(forKey key: Key) -> any Encoder {
        NodeEncoder(node: node.member(key.stringValue), codingPath: codingPath + [key])
    }
}

private struct NodeList: UnkeyedEncodingContainer {
    let node: Node
    let codingPath: [any CodingKey]
    var count: Int {
        if case .list(let nodes) = node.content { nodes.count } else { 0 }
    }

    func encodeNil() { _ = node.element() }

    func encode(_ value: some Encodable) throws { try node.element().set(value, codingPath) }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) -> KeyedEncodingContainer<Nested> {
        NodeEncoder(node: node.element(), codingPath: codingPath).container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        NodeEncoder(node: node.element(), codingPath: codingPath).unkeyedContainer()
    }

    func superEncoder() -> any Encoder {
        NodeEncoder(node: node.element(), codingPath: codingPath)
    }
}

private struct SingleNode: SingleValueEncodingContainer {
    let node: Node
    let codingPath: [any CodingKey]

    func encodeNil() { node.content = .value(.null) }
    func encode(_ value: some Encodable) throws { try node.set(value, codingPath) }
}
