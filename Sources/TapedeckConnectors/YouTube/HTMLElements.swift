internal import CLibXML2

/// An HTML element, reduced to its name and attributes.
struct HTMLElement {
    /// The element's name, in lower case.
    let name: String
    fileprivate let node: UnsafeMutablePointer<xmlNode>

    /// Returns the value of an attribute, with entities decoded and surrounding whitespace removed;
    /// nil if it is missing or blank.
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

/// The elements of a page, parsed by libxml2 as a browser would parse them: parsing never fails,
/// whatever the bytes.
///
/// No resources that the page references are loaded. The tree is walked without recursion, so deep
/// nesting cannot overflow the stack.
enum HTMLElements {
    /// Calls `body` for each element with one of the given names, in document order.
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

    /// Initializes the library's global tables once, before several threads use the library.
    private static let isReady: Bool = {
        xmlInitParser()
        return true
    }()

    /// Returns the next node in document order.
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
