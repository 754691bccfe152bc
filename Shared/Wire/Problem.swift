import Bytes
import Models

extension Problem: WireCodable {
    /// Layout: code 1 · detail (the rest, UTF-8).
    public init(from reader: inout ByteReader) throws(WireError) {
        let number: UInt8 = try reader.number()
        guard let code = Code(rawValue: number) else { throw .unknownValue(field: "problem code", UInt64(number)) }
        self.init(code, String(decoding: reader.readRest(), as: UTF8.self))
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(code.rawValue)
        buffer.append(utf8: detail)
    }
}
