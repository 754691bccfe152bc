import Bytes
import JSON

extension Reader {
    /// Any JSON document. What is taken, written again in the shortest form, is taken again and written the same.
    static let json = Reader(
        "json",
        #"{"a":[1,-0.5e+3,true,false,null,"\u00e9\ud83e\uddd7\n\"\\\/"],"":{},"\u0061":[[],[{}]],"é🧗":9007199254740991}"#,
        #" [ 0 , "plain text, longer than a machine word" ] "#, "-9223372036854775808", #""""#
    ) { bytes in
        guard let first = rewritten(bytes) else { return nil }
        return first.withUnsafeBytes { rewritten($0) } == first
    }

    private static func rewritten(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
        var reader = JSONReader(bytes)
        var buffer = ByteBuffer()
        do throws(JSONError) {
            try rewrite(&reader, bytes, into: &buffer)
            try reader.end()
            return buffer.array
        } catch {
            // An error says where it is, and the field it names is found by reading again.
            precondition((0...bytes.count).contains(error.offset), "an error lies in the document")
            return nil
        }
    }

    private static func rewrite(
        _ reader: inout JSONReader, _ bytes: UnsafeRawBufferPointer, into buffer: inout ByteBuffer
    ) throws(JSONError) {
        switch try reader.kind() {
        case .object:
            try reader.beginObject()
            buffer.beginObject()
            while let key = try reader.nextKey() {
                buffer.append(dynamicKey: key.string)
                try rewrite(&reader, bytes, into: &buffer)
            }
            buffer.endObject()
        case .array:
            try reader.beginArray()
            buffer.beginArray()
            while try reader.nextElement() {
                buffer.beginElement()
                try rewrite(&reader, bytes, into: &buffer)
            }
            buffer.endArray()
        case .string: buffer.appendJSON(try reader.string())
        case .bool: buffer.appendJSON(try reader.bool())
        case .null: if try reader.consumeNull() { buffer.appendNull() }
        case .number: try rewriteNumber(&reader, bytes, into: &buffer)
        }
    }

    /// As an integer where it is one that fits, and else as it stands.
    private static func rewriteNumber(
        _ reader: inout JSONReader, _ bytes: UnsafeRawBufferPointer, into buffer: inout ByteBuffer
    ) throws(JSONError) {
        var copy = reader
        if let integer = try? copy.integer() {
            buffer.appendJSON(integer)
            reader = copy
        } else {
            let number = try reader.encodedValue()
            precondition(bytes.contains(number), "a value lies in the document")
            buffer.append(number)
        }
    }
}
