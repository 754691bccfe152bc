import Foundation
import JSON
import Testing

@Suite struct JSONReaderTests {
    private func check(_ document: [UInt8]) throws {
        try document.withUnsafeBytes { bytes in
            var reader = JSONReader(bytes)
            try reader.skip()
            try reader.end()
        }
    }

    private func refusal(_ document: String, _ read: (inout JSONReader) throws -> Void) -> JSONError? {
        #expect(throws: JSONError.self) {
            try Array(document.utf8).withUnsafeBytes { bytes in
                var reader = JSONReader(bytes)
                try read(&reader)
            }
        }
    }

    @Test(
        "a valid document is accepted",
        arguments: [
            "0", "-0", "1", "-12", "1.5", "1e9", "1E+9", "1.25e-3", "123456789012345678901234567890", "true", "false",
            "null",
            #""""#, #""a""#, #""\u0041\n\"\\\/""#, #""\ud834\udd1e""#, #""\uDBFF\uDFFF""#, "\"\u{7F}\"",
            "\"é€𝄞\u{10FFFF}\"",
            "[]", "[ ]", "[1]", "[1, 2 ,3]", "{}", "{ }", #"{"a":1}"#, #"{"a":1,"a":2}"#, #"{"":{"":[{}]}}"#,
            " \t\r\n1 \t\r\n", #"{"a" : [ 1 , {"b":null} ] }"#, "[[[[[[[[[]]]]]]]]]",
        ])
    func accepts(document: String) throws {
        try check(Array(document.utf8))
    }

    @Test(
        "an invalid document is refused",
        arguments: [
            "", " ", "nul", "nulll", "True", "tru", "falsey", "undefined", "NaN", "Infinity", "'a'", "a",
            "00", "01", "-", "-01", "+1", ".5", "1.", "1.e3", "1e", "1e+", "0x10", "1_000", "--1", "1 2", "2.5.5",
            "\"", #""a"#, #""\"#, #""\x""#, #""\u""#, #""\u12""#, #""\u12G4""#, #""\ud834""#, #""\ud834x""#,
            #""\ud834\n""#,
            #""\ud834\u0041""#, #""\udd1e""#, #""\udd1e\ud834""#, #""\u0000""#, "\"\u{0}\"", "\"\n\"", "\"\t\"",
            "\"\u{1F}\"",
            "[", "]", "[1", "[1,", "[1,]", "[,1]", "[1,,2]", "[1 2]", "[1}", "[1:2]", "[\"a\": 1]", "[]]", "[1],",
            "{", "}", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "{\"a\":1,}", "{,}", "{\"a\"}", "{\"a\" 1}",
            "{\"a\":1 \"b\":2}",
            "{a:1}", "{1:2}", "{\"a\":1]", "{\"a\"::1}", "{\"a\":1}}", "{\"a\":1}#", "// c\n1", "/* */1", "1//",
            "\u{FEFF}1", "\u{A0}1",
        ])
    func refuses(document: String) {
        #expect(throws: JSONError.self) { try check(Array(document.utf8)) }
    }

    @Test(
        "bytes that are not UTF-8 are refused in a string",
        arguments: [
            [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xC3, 0x28], [0xE0, 0x80, 0x80], [0xE2, 0x82],
            [0xE2, 0x28, 0xA1],
            [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x9F, 0x98],
            [0xF4, 0x90, 0x80, 0x80],
            [0xF5, 0x80, 0x80, 0x80], [0xFE], [0xFF], [0xF8, 0x88, 0x80, 0x80, 0x80],
        ] as [[UInt8]])
    func refusesInvalidUTF8(bytes: [UInt8]) {
        for padding in 0..<9 {
            let text = [UInt8](repeating: 0x61, count: padding)
            #expect(throws: JSONError.self) { try check([0x22] + text + bytes + [0x22]) }
            #expect(throws: JSONError.self) { try check([0x22] + text + bytes) }
        }
    }

    @Test("a special character is found at every alignment", arguments: 0..<24)
    func alignment(padding: Int) throws {
        let text = String(repeating: "x", count: padding)
        for special in ["\"", "\\", "\n", "\u{1}", "é", "€", "𝄞", " ", "!", "#", "[", "]"] {
            let value = JSONValue.string(text + special + text)
            #expect(try JSONValue(document: value.document) == value)
        }
    }

    @Test("64 levels are accepted and 65 are not, in arrays as in objects")
    func depth() throws {
        func nested(_ levels: Int, _ open: String, _ close: String) -> [UInt8] {
            Array((String(repeating: open, count: levels) + "1" + String(repeating: close, count: levels)).utf8)
        }
        try check(nested(64, "[", "]"))
        try check(nested(64, #"{"a":"#, "}"))
        #expect(throws: JSONError.self) { try check(nested(65, "[", "]")) }
        #expect(throws: JSONError.self) { try check(nested(65, #"{"a":"#, "}")) }
        #expect(throws: JSONError.self) { try check(Array(repeating: UInt8(ascii: "["), count: 1_000_000)) }
    }

    @Test(
        "an integer is read exactly or refused",
        arguments: [
            ("0", 0), ("-0", 0), ("7", 7), ("9223372036854775807", Int64.max), ("-9223372036854775808", .min),
            ("9223372036854775808", nil), ("-9223372036854775809", nil), ("99999999999999999999", nil), ("1.0", nil),
            ("1e2", nil), ("01", nil), ("-", nil), ("\"1\"", nil), ("", nil),
        ] as [(String, Int64?)])
    func integers(text: String, expected: Int64?) {
        let value = Array(text.utf8).withUnsafeBytes { bytes in
            var reader = JSONReader(bytes)
            return try? reader.integer()
        }
        #expect(value == expected)
    }

    @Test("keys are compared decoded, however they are escaped")
    func escapedKeys() throws {
        try #"{"\u0074ext":1,"\"\ud83d\ude00":2}"#.utf8CString.withUnsafeBytes { bytes in
            var reader = JSONReader(UnsafeRawBufferPointer(rebasing: bytes.dropLast()))
            try reader.beginObject()
            let first = try #require(try reader.nextKey())
            #expect(first == "text")
            #expect(first.hasEscapes)
            #expect(try reader.integer() == 1)
            let second = try #require(try reader.nextKey())
            #expect(second == "\"😀")
            #expect(try reader.integer() == 2)
            #expect(try reader.nextKey() == nil)
            try reader.end()
        }
    }

    @Test("of equal keys the last one applies")
    func duplicateKeys() throws {
        #expect(
            try JSONValue(document: Array(#"{"a":1,"b":2,"a":3}"#.utf8))
                == .object(["a": .integer(3), "b": .integer(2)]))
    }

    @Test("a repeated known key is refused, however it is escaped; an unknown one is not")
    func keysGivenOnce() throws {
        func read(_ text: String) throws -> Int {
            try Array(text.utf8).withUnsafeBytes { bytes in
                var reader = JSONReader(bytes)
                let keys: JSONKeys = ["a", "b"]
                var given = JSONKeys.Given()
                var count = 0
                try reader.beginObject()
                while try reader.nextKey(of: keys, &given) != nil {
                    try reader.skip()
                    count += 1
                }
                return count
            }
        }
        #expect(try read(#"{"a":{"a":1},"c":0,"b":null,"c":1}"#) == 4)
        for text in [#"{"a":1,"a":1}"#, #"{"b":null,"a":1,"\u0062":2}"#] {
            let error = #expect(throws: JSONError.self) { try read(text) }
            #expect(error?.reason == .invalidValue("given once"))
        }
    }

    @Test("an encoded value has the document's bytes")
    func encodedValue() throws {
        try Array(#"{"a": [1, {"b":"\u0041"}] ,"c":0}"#.utf8).withUnsafeBytes { bytes in
            var reader = JSONReader(bytes)
            try reader.beginObject()
            _ = try reader.nextKey()
            #expect(String(decoding: try reader.encodedValue(), as: UTF8.self) == #"[1, {"b":"\u0041"}]"#)
            #expect(try reader.nextKey()?.string == "c")
        }
    }

    @Test(
        "an error names the field at fault",
        arguments: [
            (#"{"id":"x","text":1}"#, "text: expected a string at byte 17"),
            (
                #"{"messages":[{"text":"a"},{"text":"b\q"}]}"#,
                "messages[1].text: not an escape sequence of JSON at byte 36"
            ),
            (#"{"messages":[{"text":"a"},{"text":{}"#, "messages[1].text: expected a string at byte 34"),
            (#"[1"#, "[0]: the document ends too early at byte 2"),
            (#"{"text":"a",}"#, "expected a key at byte 12"),
            (#"{"a,b}":[1,2],"text":true}"#, "text: expected a string at byte 21"),
            (#"{"text":"a"} x"#, "the document continues after its value at byte 13"),
        ])
    func field(document: String, description: String) {
        let error = refusal(document) { reader in
            try readTexts(&reader)
            try reader.end()
        }
        #expect(error?.description == description)
    }

    /// Requires that every `text`, at any depth, is a string.
    private func readTexts(_ reader: inout JSONReader) throws(JSONError) {
        switch try reader.kind() {
        case .object:
            try reader.beginObject()
            while let key = try reader.nextKey() {
                if key == "text" { _ = try reader.string() } else { try readTexts(&reader) }
            }
        case .array:
            try reader.beginArray()
            while try reader.nextElement() { try readTexts(&reader) }
        default: try reader.skip()
        }
    }

    @Test("the contract's values are read from their text forms, and any other value is refused by its field")
    func modelValues() throws {
        let uuid = "0193a6b4-1f2c-7d3e-8a9b-0123456789ab"
        try Array(#"["\#(uuid)","ann@example.org","2026-11-21T10:47:00.5Z"]"#.utf8).withUnsafeBytes { bytes in
            var reader = JSONReader(bytes)
            try reader.beginArray()
            _ = try reader.nextElement()
            #expect(try reader.messageID().description == uuid)
            _ = try reader.nextElement()
            #expect(try reader.userID().name == "ann@example.org")
            _ = try reader.nextElement()
            #expect(try reader.timestamp().milliseconds == 1_795_258_020_500)
        }
        #expect(
            refusal(#""\#(uuid.uppercased())""#) { _ = try $0.uuid() }?.reason == .invalidValue("a UUID in lower case"))
        #expect(refusal(#""a b""#) { _ = try $0.userID() } != nil)
        #expect(refusal(#""2026-11-21""#) { _ = try $0.timestamp() } != nil)
    }
}
