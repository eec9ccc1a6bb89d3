import TapedeckVideo
import Testing

@Suite struct PlainTextTests {
    /// HTML and the plain text expected from it.
    struct Case: CustomTestStringConvertible {
        let html: String
        let text: String?
        var testDescription: String { html }
    }

    static let cases: [Case] = [
        Case(html: "<p>One <b>two</b>, <i>three</i>.</p>", text: "One two, three."),
        Case(html: "<p>One</p><p>Two</p>", text: "One\nTwo"),
        Case(html: "One<br>Two<br/>Three<br />Four", text: "One\nTwo\nThree\nFour"),
        Case(
            html: "<p>Law &amp; Order &lt;SVU&gt; &quot;x&quot; &#39;y&#39; &#x27;z&#X27;</p>",
            text: "Law & Order <SVU> \"x\" 'y' 'z'"),
        Case(html: "a\n\n  b\t c&nbsp;d", text: "a b c d"),
        Case(html: "caf&eacute; &mdash; d&eacute;j&agrave; vu&hellip;", text: "café — déjà vu…"),
        Case(html: "<p></p>", text: nil), Case(html: "", text: nil), Case(html: " \n ", text: nil),
        Case(html: "AT&T & co &unknown; &", text: "AT&T & co &unknown; &"),
        Case(html: "a < b > c", text: "a < b > c"), Case(html: "1<2", text: "1<2"),
        Case(html: "<p class=\"x > y\">a", text: "y\">a"),
        Case(html: "a<!-- hidden <b> -->b", text: "ab"), Case(html: "a<!-- open", text: "a"),
        Case(html: "a<p", text: "a"), Case(html: "<", text: "<"), Case(html: "</", text: "</"),
        Case(html: "&#0;&#xD800;&#99999999;", text: "\u{FFFD}\u{FFFD}\u{FFFD}"),
        Case(html: "&#;&#x;&#zz;", text: "&#;&#x;&#zz;"),
        Case(html: "&amp;lt;b&amp;gt;", text: "&lt;b&gt;"),
        Case(html: "日本語<br>テキスト😀", text: "日本語\nテキスト😀"),
    ]

    @Test(arguments: cases)
    func htmlBecomesPlainText(_ html: Case) {
        #expect(PlainText(html: html.html).text == html.text)
    }

    @Test func hostileHTMLDoesNotHang() {
        for piece in ["<", "&", "<a", "<!--", "&#", "<p>", "&amp;", "</", ">"] {
            _ = PlainText(html: String(repeating: piece, count: 20_000))
        }
    }
}
