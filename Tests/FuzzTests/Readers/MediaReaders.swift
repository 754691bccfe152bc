import Models

@testable import Media

extension Reader {
    /// What comes to media: header fields of uploads and of those who read, and what an inspector writes, which a file may
    /// have taken over.
    static let files: [Reader] = [
        Reader(
            "uploadMetadata", "filename aGVsbG8udHh0, filetype aW1hZ2UvcG5n,is_confidential",
            "filename Li4vLi4vZXRjL3Bhc3N3ZA==", "filename YeKArmdwai5leGU="
        ) { bytes in
            guard let metadata = try? UploadMetadata(bytes) else { return nil }
            return metadata.text.utf8.elementsEqual(bytes) && isFileName(metadata.name)
        },
        Reader(
            "uploadChecksum", "sha1 2jmj7l5rSw0yVb/vlWAYkK/YBwk=", "sha256 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        ) { bytes in
            guard let checksum = try? UploadChecksum(bytes) else { return nil }
            return checksum.digest.count == checksum.algorithm.byteCount
        },
        Reader("uploadNumber", "0", "104857600", "999999999999999999") { bytes in
            Tus.number(bytes).map { Int64(String(decoding: bytes, as: UTF8.self)) == $0 }
        },
        Reader("range", "bytes=0-99", "bytes=7-", "bytes=-5", "bytes=100-") { bytes in
            switch ByteRange(bytes, of: 100) {
            case .whole: nil
            case .part(let offset, let count): offset >= 0 && count > 0 && count <= 100 - offset
            case .unsatisfiable: true
            }
        },
        Reader("entityTag", #""abc""#, #""x", W/"abc""#, "*") { bytes in
            EntityTag("abc", .content).isNamed(in: bytes) ? true : nil
        },
        Reader("inspectionFrames", examples: [exampleOutput]) { bytes in
            let whole = events(of: [Array(bytes)])
            guard whole == events(of: bytes.map { [$0] }) else { return false }
            return whole.last == .end ? true : nil
        },
        Reader(
            "inspectedFacts",
            #"{"verdict":"ready","type":"image/heic","contentType":"image/jpeg","width":40,"height":30,"duration":1.5}"#,
            #"{"verdict":"ready","thumbhash":"YWJjZA==","thumbnails":[{"size":"small","width":4,"height":3}]}"#,
            #"{"verdict":"refused","reason":"tooLarge","type":"image/png"}"#
        ) { bytes in InspectedFacts(Array(bytes)).map(isBounded) },
    ]

    /// What a message shows and a browser saves under.
    private static func isFileName(_ name: String) -> Bool {
        (1...ContractLimits.mediaNameBytes).contains(name.utf8.count) && name != "." && name != ".."
            && name.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0 != "/" && $0 != "\\" && $0.value != 0x202E }
    }

    private static func isBounded(_ facts: InspectedFacts) -> Bool {
        let sides = [facts.content.width, facts.content.height].compactMap(\.self)
        return facts.isReady == (facts.reason == nil) && (facts.reason ?? "").utf8.count <= 32
            && (facts.type ?? "").utf8.count <= 100 && sides.allSatisfy { (1...1_000_000).contains($0) }
            && (facts.content.durationMilliseconds ?? 0) >= 0 && facts.thumbnails.count <= 2
    }

    private static let exampleOutput =
        output(1, Array("{}".utf8)) + output(2, [1, 2, 3]) + output(2, [4]) + output(3, []) + output(5, [])

    private static func output(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        [tag, 0, 0, 0, UInt8(content.count)] + content
    }

    /// Up to the end or what is malformed, with the pieces of a part joined.
    private static func events(of inputs: [[UInt8]]) -> [InspectionFrames.Event] {
        var frames = InspectionFrames(), events: [InspectionFrames.Event] = []
        for input in inputs {
            var rest = input[...]
            while true {
                let event = frames.next(&rest)
                if event == .needsMore { break }
                if case .piece(let part, let bytes) = event, case .piece(part, let before)? = events.last {
                    events[events.count - 1] = .piece(part, before + bytes)
                } else {
                    events.append(event)
                }
                if event == .malformed || event == .end { return events }
            }
        }
        return events
    }
}
