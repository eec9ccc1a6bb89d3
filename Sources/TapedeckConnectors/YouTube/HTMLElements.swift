internal import CLibXML2

/// An element of a page, as far as its attributes tell.
struct HTMLElement {
    /// In lower case.
    let name: String
    fileprivate let node: UnsafeMutablePointer<xmlNode>

    /// The value of an attribute, with entities decoded and without space around it; nil where it is not
    /// there or blank.
    func text(_ attribute: String) -> String? {
        guard let bytes = xmlGetProp(node, attribute) else { return nil }
        defer { tapedeck_xml_free(bytes) }
        let text = String(cString: bytes)
        let isSpace = { (letter: Unicode.Scalar) in letter.properties.isWhitespace }
        let front = text.unicodeScalars.drop(while: isSpace)
        guard let end = front.lastIndex(where: { !isSpace($0) }) else { return nil }
        return String(front[...end])
    }
}

/// The elements of a page, read by libxml2 as browsers do: whatever the bytes are, there is some page in them.
///
/// Nothing is loaded that the page names. The page is walked without recursion, so nesting costs no stack.
enum HTMLElements {
    /// Calls `body` for each element of some names, in the order of the page.
    static func forEach(named names: Set<String>, in html: [UInt8], _ body: (HTMLElement) -> Void) {
        _ = isReady
        let options =
            HTML_PARSE_RECOVER.rawValue | HTML_PARSE_NOERROR.rawValue
            | HTML_PARSE_NOWARNING.rawValue | HTML_PARSE_NONET.rawValue
        let repaired = Array(String(decoding: html, as: UTF8.self).utf8)
        let document = repaired.withUnsafeBytes { bytes in
            htmlReadMemory(
                bytes.baseAddress?.assumingMemoryBound(to: CChar.self), CInt(bytes.count), nil,
                "UTF-8", CInt(options))
        }
        guard let document else { return }
        defer { xmlFreeDoc(document) }
        var next = xmlDocGetRootElement(document)
        while let node = next {
            if node.pointee.type == XML_ELEMENT_NODE, let bytes = node.pointee.name {
                let name = String(cString: bytes).lowercased()
                if names.contains(name) { body(HTMLElement(name: name, node: node)) }
            }
            next = following(node)
        }
    }

    /// The library's tables are made once, before threads use it.
    private static let isReady: Bool = {
        xmlInitParser()
        return true
    }()

    /// The node that begins next behind the beginning of `node`.
    private static func following(
        _ node: UnsafeMutablePointer<xmlNode>
    ) -> UnsafeMutablePointer<xmlNode>? {
        if node.pointee.type == XML_ELEMENT_NODE, let child = node.pointee.children { return child }
        var at: UnsafeMutablePointer<xmlNode>? = node
        while let current = at {
            if let sibling = current.pointee.next { return sibling }
            at = current.pointee.parent
            if at?.pointee.type != XML_ELEMENT_NODE { return nil }
        }
        return nil
    }
}
