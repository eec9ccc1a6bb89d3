internal import CLMDB

/// A cursor that walks a table in key order and cannot outlive its transaction.
package struct Cursor: ~Copyable, ~Escapable {
    private let handle: OpaquePointer
    private let path: String

    package typealias Entry = (key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)

    @_lifetime(immortal)
    init(_ table: Table, in transaction: OpaquePointer, path: String) throws(LMDBError) {
        var opened: OpaquePointer?
        let code = mdb_cursor_open(transaction, table.handle, &opened)
        guard code == MDB_SUCCESS, let opened else { throw LMDBError(code, path: path) }
        handle = opened
        self.path = path
    }

    deinit { mdb_cursor_close(handle) }

    @inline(__always)
    package func first() throws(LMDBError) -> Entry? { try move(MDB_FIRST) }
    @inline(__always)
    package func last() throws(LMDBError) -> Entry? { try move(MDB_LAST) }
    @inline(__always)
    package func next() throws(LMDBError) -> Entry? { try move(MDB_NEXT) }
    @inline(__always)
    package func previous() throws(LMDBError) -> Entry? { try move(MDB_PREV) }

    /// Moves to the first entry at or after `key`.
    package func seek(_ key: [UInt8]) throws(LMDBError) -> Entry? {
        var value = MDB_val()
        var name = MDB_val()
        let code = key.withUnsafeBytes { bytes in
            name = MDB_val(bytes)
            return mdb_cursor_get(handle, &name, &value, MDB_SET_RANGE)
        }
        return try entry(code, name, value)
    }

    /// Moves to the first entry at or after an integer key or, with `exactly`, to the entry at that
    /// key.
    @inline(__always)
    package func seek(integer key: UInt64, exactly: Bool = false) throws(LMDBError) -> Entry? {
        var key = key
        var value = MDB_val()
        var name = MDB_val()
        let code = withUnsafeMutableBytes(of: &key) { bytes in
            name = MDB_val(UnsafeRawBufferPointer(bytes))
            return mdb_cursor_get(handle, &name, &value, exactly ? MDB_SET_KEY : MDB_SET_RANGE)
        }
        return try entry(code, name, value)
    }

    /// Moves to the last entry before `key`.
    package func lastBelow(_ key: [UInt8]) throws(LMDBError) -> Entry? {
        try seek(key) == nil ? try last() : try previous()
    }

    /// Adds or replaces an entry; with `isLast`, the caller guarantees that the key comes after all
    /// existing keys.
    @inline(__always)
    package func put(
        _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, isLast: Bool = false
    ) throws(LMDBError) {
        var name = MDB_val(key)
        var content = MDB_val(value)
        let code = mdb_cursor_put(handle, &name, &content, isLast ? UInt32(MDB_APPEND) : 0)
        guard code == MDB_SUCCESS else { throw LMDBError(code, path: path) }
    }

    /// Adds or replaces an entry.
    package func put(_ key: [UInt8], _ value: [UInt8], isLast: Bool = false) throws(LMDBError) {
        let code = key.withUnsafeBytes { key in
            value.withUnsafeBytes { value in
                var name = MDB_val(key)
                var content = MDB_val(value)
                return mdb_cursor_put(
                    handle, &name, &content, isLast ? UInt32(MDB_APPEND) : 0)
            }
        }
        guard code == MDB_SUCCESS else { throw LMDBError(code, path: path) }
    }

    /// Adds an entry after all existing entries.
    package func append(integer key: UInt64, _ value: [UInt8]) throws(LMDBError) {
        var key = key
        let code = withUnsafeMutableBytes(of: &key) { bytes in
            value.withUnsafeBytes { value in
                var name = MDB_val(UnsafeRawBufferPointer(bytes))
                var content = MDB_val(value)
                return mdb_cursor_put(handle, &name, &content, UInt32(MDB_APPEND))
            }
        }
        guard code == MDB_SUCCESS else { throw LMDBError(code, path: path) }
    }

    /// Removes the cursor's current entry; `next` then returns the entry after it.
    package func delete() throws(LMDBError) {
        let code = mdb_cursor_del(handle, 0)
        guard code == MDB_SUCCESS else { throw LMDBError(code, path: path) }
    }

    /// Removes the entry for a key, if it exists.
    @inline(__always)
    package func delete(_ key: UnsafeRawBufferPointer) throws(LMDBError) {
        var name = MDB_val(key)
        var value = MDB_val()
        let code = mdb_cursor_get(handle, &name, &value, MDB_SET)
        guard try entry(code, name, value) != nil else { return }
        try delete()
    }

    @inline(__always)
    private func move(_ operation: MDB_cursor_op) throws(LMDBError) -> Entry? {
        var name = MDB_val()
        var value = MDB_val()
        let code = mdb_cursor_get(handle, &name, &value, operation)
        return try entry(code, name, value)
    }

    @inline(__always)
    private func entry(_ code: Int32, _ name: MDB_val, _ value: MDB_val) throws(LMDBError) -> Entry?
    {
        if code == MDB_SUCCESS {
            return (UnsafeRawBufferPointer(name), UnsafeRawBufferPointer(value))
        }
        if code == MDB_NOTFOUND { return nil }
        throw LMDBError(code, path: path)
    }
}
